"""C = beta*C + alpha*A*B."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def gemm(alpha: "f64", beta: "f64", C: "f64[n, m]", A: "f64[n, p]", B: "f64[p, m]"):
    n, m = C.shape
    for i in range(n):
        for j in range(m):
            C[i, j] *= beta
        for k in range(len(B)):
            for j in range(m):
                C[i, j] += alpha * A[i, k] * B[k, j]
