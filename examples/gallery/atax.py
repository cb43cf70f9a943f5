"""y = A^T * (A*x)."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def atax(A: "f64[m, n]", x: "f64[n]", y: "f64[n]", t: "f64[m]"):
    m, n = A.shape
    for i in range(n):
        y[i] = 0
    for i in range(m):
        t[i] = 0
        for j in range(n):
            t[i] += A[i, j] * x[j]
        for j in range(n):
            y[j] += A[i, j] * t[i]
