"""s = A^T * r and q = A * p, the kernel of the biconjugate gradients."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def bicg(A: "f64[n, m]", s: "f64[m]", q: "f64[n]", p: "f64[m]", r: "f64[n]"):
    n, m = A.shape
    for i in range(m):
        s[i] = 0
    for i in range(n):
        q[i] = 0
        for j in range(m):
            s[j] += r[i] * A[i, j]
            q[i] += A[i, j] * p[j]
