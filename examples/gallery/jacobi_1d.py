"""Jacobi sweeps over a line, forth and back between two arrays."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def jacobi_1d(steps: int, A: "f64[n]", B: "f64[n]"):
    n = len(A)
    for _ in range(steps):
        for i in range(1, n - 1):
            B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1])
        for i in range(1, n - 1):
            A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1])
