"""Products of a matrix and of its transpose with vectors."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def mvt(x1: "f64[n]", x2: "f64[n]", y1: "f64[n]", y2: "f64[n]", A: "f64[n, n]"):
    n = len(A)
    for i in range(n):
        for j in range(n):
            x1[i] += A[i, j] * y1[j]
    for i in range(n):
        for j in range(n):
            x2[i] += A[j, i] * y2[j]
