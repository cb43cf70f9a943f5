"""B = alpha * A^T * B in place, A lower triangular with ones on its diagonal."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def trmm(alpha: "f64", A: "f64[m, m]", B: "f64[m, n]"):
    m, n = B.shape
    for i in range(m):
        for j in range(n):
            for k in range(i + 1, m):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] = alpha * B[i, j]
