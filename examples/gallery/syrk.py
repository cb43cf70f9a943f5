"""The lower triangle of C = beta*C + alpha*A*A^T."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def syrk(alpha: "f64", beta: "f64", C: "f64[n, n]", A: "f64[n, m]"):
    n, m = A.shape
    for i in range(n):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                C[i, j] += alpha * A[i, k] * A[j, k]
