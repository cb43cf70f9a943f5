"""L*x = b by forward substitution."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def trisolv(L: "f64[n, n]", x: "f64[n]", b: "f64[n]"):
    for i in range(len(L)):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] = x[i] / L[i, i]
