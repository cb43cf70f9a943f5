"""y = alpha*A*x + beta*B*x."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def gesummv(alpha: "f64", beta: "f64", A: "f64[n, n]", B: "f64[n, n]", x: "f64[n]", y: "f64[n]"):
    n = len(x)
    for i in range(n):
        a = 0.0
        b = 0.0
        for j in range(n):
            a += A[i, j] * x[j]
            b += B[i, j] * x[j]
        y[i] = alpha * a + beta * b
