"""The Cholesky factor of a symmetric positive definite matrix, in place."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import numpy as np

import polysched as ps


@ps.kernel
def cholesky(A: "f64[n, n]"):
    for i in range(len(A)):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = np.sqrt(A[i, i])
