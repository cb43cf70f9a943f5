"""The covariance matrix of the columns of a table, whose means are taken off."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def covariance(data: "f64[n, m]", cov: "f64[m, m]", mean: "f64[m]"):
    n, m = data.shape
    for j in range(m):
        mean[j] = 0
        for i in range(n):
            mean[j] += data[i, j]
        mean[j] /= n
    for i in range(n):
        for j in range(m):
            data[i, j] -= mean[j]
    for i in range(m):
        for j in range(i, m):
            cov[i, j] = 0
            for k in range(n):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] /= n - 1
            cov[j, i] = cov[i, j]
