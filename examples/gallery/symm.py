"""C = beta*C + alpha*A*B, A symmetric, of which the lower triangle is stored."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def symm(alpha: "f64", beta: "f64", C: "f64[m, n]", A: "f64[m, m]", B: "f64[m, n]"):
    m, n = C.shape
    for i in range(m):
        for j in range(n):
            total = 0.0
            for k in range(i):
                total += B[k, j] * A[i, k]
            C[i, j] = beta * C[i, j] + alpha * B[i, j] * A[i, i] + alpha * total
            for k in range(i):
                C[k, j] += alpha * B[i, j] * A[i, k]
