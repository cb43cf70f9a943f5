"""Well-known affine programs as plain Python functions."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import math

import numpy as np

import polysched as ps


@ps.kernel
def lu(a: "f64[n, n]"):
    n = len(a)
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[k, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            for k in range(i):
                a[i, j] -= a[i, k] * a[k, j]


@ps.kernel
def cholesky(a: "f64[n, n]"):
    for i in range(len(a)):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = math.sqrt(a[i, i])


@ps.kernel
def back_substitution(u: "f64[n, n]", x: "f64[n]"):
    n = len(x)
    for i in range(n - 1, -1, -1):
        for j in range(n - 1, i, -1):
            x[i] -= u[i, j] * x[j]
        x[i] = x[i] / u[i, i]


@ps.kernel
def durbin(r: "f64[n]", y: "f64[n]"):
    n = len(r)
    assert n >= 1
    z = np.zeros(n)
    y[0] = -r[0]
    beta = 1.0
    alpha = -r[0]
    for k in range(1, n):
        beta = (1 - alpha * alpha) * beta
        total = 0.0
        for i in range(k):
            total += r[k - i - 1] * y[i]
        alpha = -(r[k] + total) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha


@ps.kernel
def gram_schmidt(a: "f64[m, n]", q: "f64[m, n]"):
    m, n = a.shape
    r = np.zeros((n, n))
    for k in range(n):
        norm = 0.0
        for i in range(m):
            norm += a[i, k] * a[i, k]
        r[k, k] = math.sqrt(norm)
        for i in range(m):
            q[i, k] = a[i, k] / r[k, k]
        for j in range(k + 1, n):
            r[k, j] = 0
            for i in range(m):
                r[k, j] += q[i, k] * a[i, j]
            for i in range(m):
                a[i, j] -= q[i, k] * r[k, j]
    return r


@ps.kernel
def floyd_warshall(distance: "i32[n, n]"):
    n = distance.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                distance[i, j] = min(distance[i, j], distance[i, k] + distance[k, j])


@ps.kernel
def rna_folding(sequence: "i32[n]", table: "i32[n, n]"):
    n = len(sequence)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < n:
                table[i, j] = max(table[i, j], table[i + 1, j])
                if i < j - 1:
                    pair = 1 if sequence[i] + sequence[j] == 3 else 0
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + pair)
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])


@ps.kernel
def seidel(a: "f64[n, n]", T: int):
    n = len(a)
    for _ in range(T):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i, j] + a[i, j + 1] + a[i + 1, j]) / 5


@ps.kernel
def heat(a: "f32[n, n, n]", b: "f32[n, n, n]"):
    n = len(a)
    for t in range(6):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    if t % 2 == 0:
                        b[i, j, k] = a[i, j, k] + 0.125 * (
                            a[i + 1, j, k] - 2 * a[i, j, k] + a[i - 1, j, k]
                        )
                    else:
                        a[i, j, k] = b[i, j, k] + 0.125 * (
                            b[i, j + 1, k] - 2 * b[i, j, k] + b[i, j, k - 1]
                        )


@ps.kernel
def correlation(data: "f64[n, m]"):
    n, m = data.shape
    result = np.zeros((m, m))
    for j in range(m):
        mean = 0.0
        for i in range(n):
            mean += data[i, j]
        mean /= n
        deviation = 0.0
        for i in range(n):
            deviation += (data[i, j] - mean) ** 2
        deviation = math.sqrt(deviation / n)
        if deviation <= 0.1:
            deviation = 1.0
        for i in range(n):
            data[i, j] = (data[i, j] - mean) / (math.sqrt(n) * deviation)
    for i in range(m):
        result[i, i] = 1
        for j in range(i + 1, m):
            for k in range(n):
                result[i, j] += data[k, i] * data[k, j]
            result[j, i] = result[i, j]
    return result


@ps.kernel
def recursive_filter(x: "f32[h, w]", alpha: "f32"):
    h, w = x.shape
    y = np.zeros_like(x)
    for i in range(h):
        before: f32 = 0
        for j in range(w):
            before = alpha * x[i, j] + (1 - alpha) * before
            y[i, j] = before
        after: f32 = 0
        for j in range(w - 1, -1, -1):
            after = alpha * x[i, j] + (1 - alpha) * after
            y[i, j] += after
    return y


@ps.kernel
def gemver(a: "f64[n, n]", u: "f64[n]", v: "f64[n]", x: "f64[n]", y: "f64[n]", beta: "f64"):
    n = len(u)
    for i in range(n):
        for j in range(n):
            a[i, j] += u[i] * v[j]
    for i in range(n):
        for j in range(n):
            x[i] += beta * a[j, i] * y[j]


ALL = (
    lu,
    cholesky,
    back_substitution,
    durbin,
    gram_schmidt,
    floyd_warshall,
    rna_folding,
    seidel,
    heat,
    correlation,
    recursive_filter,
    gemver,
)
