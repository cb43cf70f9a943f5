"""Alternating directions implicit: a column sweep and a row sweep a time step."""

# ruff: noqa: F821, PLR0913, PLR0917  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def adi(
    steps: int,
    a: "f64",
    b: "f64",
    c: "f64",
    d: "f64",
    e: "f64",
    f: "f64",
    u: "f64[n, n]",
    v: "f64[n, n]",
    p: "f64[n, n]",
    q: "f64[n, n]",
):
    n = len(u)
    assert n >= 2
    for _ in range(steps):
        for i in range(1, n - 1):
            v[0, i] = 1
            p[i, 0] = 0
            q[i, 0] = v[0, i]
            for j in range(1, n - 1):
                p[i, j] = -c / (a * p[i, j - 1] + b)
                q[i, j] = (
                    -d * u[j, i - 1] + (1 + 2 * d) * u[j, i] - f * u[j, i + 1] - a * q[i, j - 1]
                ) / (a * p[i, j - 1] + b)
            v[n - 1, i] = 1
            for j in range(n - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        for i in range(1, n - 1):
            u[i, 0] = 1
            p[i, 0] = 0
            q[i, 0] = u[i, 0]
            for j in range(1, n - 1):
                p[i, j] = -f / (d * p[i, j - 1] + e)
                q[i, j] = (
                    -a * v[i - 1, j] + (1 + 2 * a) * v[i, j] - c * v[i + 1, j] - d * q[i, j - 1]
                ) / (d * p[i, j - 1] + e)
            u[i, n - 1] = 1
            for j in range(n - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]
