"""Jacobi sweeps over a grid, forth and back between two arrays."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def jacobi_2d(steps: int, A: "f64[n, n]", B: "f64[n, n]"):
    n = len(A)
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])
