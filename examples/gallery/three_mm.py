"""G = (A*B) * (C*D): three products."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def three_mm(
    E: "f64[n, m]",
    A: "f64[n, p]",
    B: "f64[p, m]",
    F: "f64[m, q]",
    C: "f64[m, r]",
    D: "f64[r, q]",
    G: "f64[n, q]",
):
    n, p = A.shape
    m, r = C.shape
    q = D.shape[1]
    for i in range(n):
        for j in range(m):
            E[i, j] = 0
            for k in range(p):
                E[i, j] += A[i, k] * B[k, j]
    for i in range(m):
        for j in range(q):
            F[i, j] = 0
            for k in range(r):
                F[i, j] += C[i, k] * D[k, j]
    for i in range(n):
        for j in range(q):
            G[i, j] = 0
            for k in range(m):
                G[i, j] += E[i, k] * F[k, j]
