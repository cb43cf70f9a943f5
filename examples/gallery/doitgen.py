"""A product along the last dimension of a tensor, in place."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import numpy as np

import polysched as ps


@ps.kernel
def doitgen(A: "f64[r, q, p]", C: "f64[p, p]"):
    r, q, p = A.shape
    total = np.empty(p)
    for i in range(r):
        for j in range(q):
            for k in range(p):
                total[k] = 0
                for s in range(p):
                    total[k] += A[i, j, s] * C[s, k]
            for k in range(p):
                A[i, j, k] = total[k]
