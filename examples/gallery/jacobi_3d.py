"""Jacobi sweeps over a box: the mean of six neighbors."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def jacobi_3d(steps: int, A: "f32[n, n, n]", B: "f32[n, n, n]"):
    n = len(A)
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    B[i, j, k] = (
                        A[i - 1, j, k]
                        + A[i + 1, j, k]
                        + A[i, j - 1, k]
                        + A[i, j + 1, k]
                        + A[i, j, k - 1]
                        + A[i, j, k + 1]
                    ) / 6
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    A[i, j, k] = B[i, j, k]
