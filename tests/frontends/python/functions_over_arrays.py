"""Functions that are kernels and plain Python at once, for the tests to compare."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import itertools
import math

import numpy as np

import polysched as ps

HALF = 0.5
WIDTH = 3


@ps.kernel(order="any")
def gemm(a: "f32[m, k]", b: "f32[k, n]", c: "f32[m, n]"):
    m, n = c.shape
    k = len(b)
    for i in range(m):
        for j in range(n):
            with ps.statement("init"):
                c[i, j] = 0
            for p in range(k):
                c[i, j] += a[i, p] * b[p, j]


@ps.kernel
def downwards(x: "f64[n]", y: "f64[n]", n: int):
    """Loops that count down, an affine local, a local number, branches over data and indices."""
    out = np.zeros(n)
    t = 0.0
    for i in range(n - 1, -1, -2):
        t = x[i] * HALF + i
        k = n - 1 - i
        if x[i] > 0 and i % 4 < 3:
            t = t + 1
            y[i] += t
        elif i > 2:
            y[i] = -t / n
        else:
            t = math.sqrt(abs(x[i]))
        out[k] = t + max(y[i], x[k], 0)
    return out


@ps.kernel
def triangular(a: "f64[n, n]", x: "f64[n]", b: "f64[n]"):
    """Forward substitution, with chained subscripts."""
    n = b.shape[0]
    for i in range(n):
        x[i] = b[i]
        for j in range(i):
            x[i] -= a[i][j] * x[j]
        x[i] /= a[i][i]


@ps.kernel
def prefix(x: "i64[n]", total: "i64[n]"):
    """A running sum in a local number of the array's type."""
    s = 0
    for i in range(len(x)):
        s += x[i]
        total[i] = s


@ps.kernel
def counted(total: "i64[n]"):
    """A counter of Python's own: it changes in a loop, so it is no affine local."""
    n = total.shape[0]
    count = 0
    for i in range(n):
        if i % 2 == 0:
            count += i
        total[i] = count


@ps.kernel
def swapped(x: "f32[n]"):
    """The branch changes what its condition reads."""
    for i in range(x.shape[0] - 1):
        if x[i] > x[i + 1]:
            t = x[i]
            x[i] = x[i + 1]
            x[i + 1] = t


@ps.kernel
def indexed(x: "f64[m]", at: "i64[n] in range(m)", y: "f64[n]"):
    """Subscripts that depend on data."""
    for i in range(len(at)):
        y[i] = x[at[i]] if at[i] % 2 == 0 else -x[at[i]]


@ps.kernel
def scaled(alpha: "f32", x: "f32[n, n]"):
    """A number as an argument, several indices at once, an assertion about a size."""
    n = x.shape[0]
    assert n >= 1
    y = np.full((n, n), 0.25, dtype=np.float32)
    z = np.empty_like(x)
    for i, j in np.ndindex(n, n):
        y[i, j] += alpha * x[i, j] ** 2
    for i, j in itertools.product(range(n), range(0, n, 1)):
        z[i, j] = np.float32(np.float64(y[j, i]) * 0.1) if i != j else y[i, -1]
    return y, z


@ps.kernel
def windows(x: "f32[n]"):
    """A constant of the module, min and max in bounds and values."""
    n = x.shape[0]
    y = np.ones(n, np.float32)
    for i in range(n):
        for j in range(max(0, i - WIDTH), min(n, i + WIDTH + 1)):
            y[i] = np.maximum(y[i], x[j]) + min(x[i], x[j])
    return y


@ps.kernel
def lengths(x: "f64[n]", y: "f64[n]", z: "i32[n]"):
    """Functions of math and numpy, floor division and remainders."""
    for i in range(x.shape[0]):
        y[i] = math.hypot(x[i], 2) + np.floor(x[i]) + abs(x[i]) + float(z[i] // 3) + z[i] % 5 / 2
        z[i] = int(x[i] * 4) + i


ALL = (
    gemm,
    downwards,
    triangular,
    prefix,
    counted,
    swapped,
    indexed,
    scaled,
    windows,
    lengths,
)
