"""A rank-two update of A, then products of A with vectors."""

# ruff: noqa: F821, PLR0913, PLR0917  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def gemver(
    alpha: "f64",
    beta: "f64",
    A: "f64[n, n]",
    u1: "f64[n]",
    v1: "f64[n]",
    u2: "f64[n]",
    v2: "f64[n]",
    w: "f64[n]",
    x: "f64[n]",
    y: "f64[n]",
    z: "f64[n]",
):
    n = len(A)
    for i in range(n):
        for j in range(n):
            A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    for i in range(n):
        for j in range(n):
            x[i] = x[i] + beta * A[j, i] * y[j]
    for i in range(n):
        x[i] = x[i] + z[i]
    for i in range(n):
        for j in range(n):
            w[i] = w[i] + alpha * A[i, j] * x[j]
