"""Durbin's recursion for a symmetric Toeplitz system."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import numpy as np

import polysched as ps


@ps.kernel
def durbin(r: "f64[n]", y: "f64[n]"):
    n = len(r)
    assert n >= 1
    z = np.empty(n)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, n):
        total = 0.0
        beta = (1 - alpha * alpha) * beta
        for i in range(k):
            total += r[k - i - 1] * y[i]
        alpha = -(r[k] + total) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha
