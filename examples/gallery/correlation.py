"""The correlation matrix of the columns of a table, which are normalized."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import numpy as np

import polysched as ps


@ps.kernel
def correlation(data: "f64[n, m]", corr: "f64[m, m]", mean: "f64[m]", deviation: "f64[m]"):
    n, m = data.shape
    assert m >= 1
    for j in range(m):
        mean[j] = 0
        for i in range(n):
            mean[j] += data[i, j]
        mean[j] /= n
    for j in range(m):
        deviation[j] = 0
        for i in range(n):
            deviation[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        deviation[j] = np.sqrt(deviation[j] / n)
        deviation[j] = 1.0 if deviation[j] <= 0.1 else deviation[j]
    for i in range(n):
        for j in range(m):
            data[i, j] -= mean[j]
            data[i, j] /= np.sqrt(n) * deviation[j]
    for i in range(m - 1):
        corr[i, i] = 1
        for j in range(i + 1, m):
            corr[i, j] = 0
            for k in range(n):
                corr[i, j] += data[k, i] * data[k, j]
            corr[j, i] = corr[i, j]
    corr[m - 1, m - 1] = 1
