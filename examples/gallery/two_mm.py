"""D = beta*D + (alpha*A*B)*C: two products in a row."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def two_mm(
    alpha: "f64",
    beta: "f64",
    T: "f64[n, m]",
    A: "f64[n, p]",
    B: "f64[p, m]",
    C: "f64[m, q]",
    D: "f64[n, q]",
):
    n, p = A.shape
    m, q = C.shape
    for i in range(n):
        for j in range(m):
            T[i, j] = 0
            for k in range(p):
                T[i, j] += alpha * A[i, k] * B[k, j]
    for i in range(n):
        for j in range(q):
            D[i, j] *= beta
            for k in range(m):
                D[i, j] += T[i, k] * C[k, j]
