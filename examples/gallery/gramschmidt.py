"""A QR decomposition by the modified Gram-Schmidt process."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import numpy as np

import polysched as ps


@ps.kernel
def gramschmidt(A: "f64[m, n]", R: "f64[n, n]", Q: "f64[m, n]"):
    m, n = A.shape
    for k in range(n):
        norm = 0.0
        for i in range(m):
            norm += A[i, k] * A[i, k]
        R[k, k] = np.sqrt(norm)
        for i in range(m):
            Q[i, k] = A[i, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = 0
            for i in range(m):
                R[k, j] += Q[i, k] * A[i, j]
            for i in range(m):
                A[i, j] = A[i, j] - Q[i, k] * R[k, j]
