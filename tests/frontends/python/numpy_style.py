"""Functions as numpy users write them, to be run by Python and compiled.

Each takes vectors ``x``, ``y`` of one length, matrices ``a``, ``b`` of one shape, or some of them.
"""

import numpy as np

WEIGHT = 0.25


def stencil(a, b):
    b[1:-1, 1:-1] = WEIGHT * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])


def overlapping_slices(x):
    x[1:] = x[:-1] * 2
    x[:-1] = x[1:] + 1
    x[::2] += x[::2]
    x[:] = x[::-1]


def in_place(x, y):
    x += y
    x[1:] -= y[:-1]
    x *= 2
    x[x < 0] = 1
    y[:] = y[2]
    y[1:] += y[1]


def rows_and_columns(a):
    a[0] = a[1]
    a[:, 0] = a[:, -1]
    a[-1] += a[0] * 2
    row = a[1]
    row[0] = 5
    for i in range(len(a)):
        a[i] = a[i] + i
        a[i, 1:] = a[i, :-1]


def broadcasting(a, x):
    n = a.shape[1]
    a += x[:n]
    return a * x[:n][None, :] + np.arange(a.shape[0])[:, np.newaxis]


def softmax(a):
    shifted = a - np.max(a, axis=1, keepdims=True)
    e = np.exp(shifted)
    return e / np.sum(e, axis=1)[:, None]


def layer_norm(a, x, y):
    n = a.shape[1]
    mean = a.mean(axis=-1, keepdims=True)
    variance = a.var(axis=-1, keepdims=True)
    return (a - mean) / np.sqrt(variance + 1e-5) * x[:n] + y[:n]


def reductions(a, x):
    return (
        np.sum(a),
        a.min(),
        np.max(a, axis=0),
        np.mean(x),
        x.sum(),
        np.prod(x[:3]),
        a.T.sum(axis=0),
    )


def positions(a, x):
    return np.argmax(x), x.argmin(), np.argmax(a, axis=1), np.argmin(a, axis=0), a.argmax()


def truth(a, x):
    return np.any(x > 1), np.all(a > -100), (a > 0).sum(), np.all(a < 0, axis=1)


def products(a, b):
    c = a @ b.T
    d = np.dot(c, a[:, 0])
    return c, d, np.dot(a[0], b[0]), np.outer(a[0], b[1])


def running(x, a):
    return np.cumsum(x), np.cumsum(a, axis=0)


def choices(x, y):
    return np.where(x > y, x, y), np.clip(x, -1, 1), np.maximum(x, 0), abs(y), -x


def makers(x):
    n = x.shape[0]
    z = np.zeros(n)
    z[1:] = x[1:]
    o = np.ones_like(x)
    f = np.full((n, 2), 3.5)
    e = np.empty((n + 1,), dtype=np.float32)
    e[:] = 2
    e[: n // 2] = 1
    return z, o, f, e, np.arange(1, n, 2), np.eye(3)


def shapes(a, b):
    c = a.T.copy()
    d = np.transpose(b)
    h, w = c.shape
    return c + d, h * w, c.size, np.diff(a[0]), np.roll(a[1], 2), np.flip(b[0]) + 0


def rebinding(x, y):
    t = x * 2
    t = t + y
    for _ in range(3):
        t = t * 0.5 + x
        u = t + 1
        t[0] = u[0]
    return t


def copies(a):
    for _ in range(2):
        old = a.copy()
        a[1:-1] = (old[:-2] + old[2:]) * 0.5


def swapped(x, y):
    x[0], y[0] = y[0], x[0]
    s, t = x[1], y[1]
    s, t = t, s + t
    x[1], x[2] = s, x[1] + t
    return s


def periodic(x, y):
    n = len(x)
    for i in range(n):
        y[i] = x[(i + 1) % n] + x[i - 1] - x[(i - 1 + n) % n]


def enumerated(x, y):
    s = 0
    for i, v in enumerate(x):
        y[i] = v * i
    for u, v in zip(x, y, strict=True):
        s += u * v
    for i, (u, v) in enumerate(zip(x, y, strict=False), 1):
        s += u - i * v
    for v in y[1:]:
        s += v
    for i in reversed(range(2, len(x))):
        y[i] = y[i - 1]
    return s


def by_rows(a):
    s = 0.0
    for row in a:
        row[0] = row[1]
        for v in row:
            s += v
    return s


def counting(x):
    i = 1
    while i < len(x):
        x[i] += x[i - 1]
        i += 3
    j = len(x) - 1
    while j >= i - len(x):
        x[j - (j // 2)] += 1
        j -= 1
    return i, j


def square(v):
    return v * v


def clamp(v, low=0, high=2):
    if v < low:
        return low * 1.0
    if v > high:
        return high * 1.0
    return v * 1.0


def neighbors(v, out):
    """A helper that writes."""
    for i in range(1, len(v)):
        out[i] = v[i] - v[i - 1]


def two(v):
    t = v * 2
    return t, t + 1


def calls(x, y):
    neighbors(x, y)
    s = 0.0
    for i in range(len(x)):
        s += square(x[i]) + clamp(y[i], high=1)
    p, q = two(x)
    y[:] = square(p) + q
    return s


def guarded(x, y):
    for i in range(len(x)):
        t = x[i] * 2
        if x[i] > 0:
            y[i] = t
            x[i] = 0
        elif t < -1:
            y[i] += 1
        y[i] = x[i + 1] if i + 1 < len(x) else y[i]


def types(x, y):
    return x / 2, x // 2, (x > y) & (y > 0), x.astype(np.float32), np.sqrt(x * x), x * np.float32(2)


def slices_in_loops(a):
    n, _ = a.shape
    for i in range(1, n):
        a[i, :i] = 0
        s = np.sum(a[i, :i])
        t = a[i, i:] * 2
        a[i, i:] = t + s
        a[i, 0] = np.dot(a[i, 1:], a[i - 1, 1:])


def numbers(x, k, alpha):
    alpha *= 2
    t = x * alpha + k
    k = k + 1
    return t, k, alpha, k * 2, alpha * k


def initial_values(x, a, k):
    return (
        np.max(x, initial=2),
        a.min(axis=0, initial=k),
        np.sum(a, initial=1),
        np.max(x[:0], initial=5),
    )


def repeated_differences(x, a):
    return np.diff(x, 2), np.diff(a, n=3, axis=0), np.diff(a, 1, 1)


def over_arange(x, y):
    last = 0
    for i in np.arange(1, len(x), 2):
        y[i] = x[i] * i + i // 2 - i / 3
        last = i
    for i in np.arange(len(x) - 1, -1, -1):
        y[i] += i % 3
    return last


def quotient_of_sums(x, y):
    above, below = 0.0, 0.0
    for i in range(len(x)):
        if x[i] > 0:
            above += x[i]
        else:
            below -= x[i]
    y[0] = 1 + above / below if below != 0 else 2.0
    return 3.0 / below


def arrays_as_subscripts(x, y, a):
    at = np.array([3, 0, 3, -1])
    rows = np.arange(4)
    y[at] += 1  # numpy counts the element that occurs twice once
    a[rows, at] = y[:4]
    a[rows[:2], 2] -= 1
    return (
        a[rows, at],
        a[rows[:, None], at[:3]],
        a[None, rows, 1:3],
        a[2, at],
        x[at][:, None] * a[rows, ::-1][:, at],
    )


def masked_calls(x, y):
    large = np.abs(x) > 1
    x[large] = np.sign(x[large]) * np.minimum(np.abs(y[large]), 2)
    y[~large] = abs(y[~large]) + 1
    return np.sum(large), y[large].max(), np.min(x[~large])


def loops_over_results(x, y, a):
    total = 0.0
    for value in a.ravel():
        total = 0.5 * total + value
    for value in abs(a[1]):
        total += value
    for i, (first, second) in enumerate(zip(x * 2, y[::-1] - x, strict=True)):
        y[i] += first * second
    for value in np.linspace(0.0, 1.0, 5):
        total += value * y[0]
    return total


def pivoted(x, a):
    for k in range(len(a)):
        p = k
        for i in range(k, len(a)):
            if abs(a[i, 0]) > abs(a[p, 0]):
                p = i
        x[k], x[p] = x[p], x[k]
        a[k, 1], a[p, 1] = a[p, 1], a[k, 1] + 1


def by_type(x, k):
    if x.dtype == np.float32:
        k += 1
    elif x.dtype in (np.int32, np.int64):
        k += 2
    return k, x.sum() if x.dtype != np.float64 else x.mean()


def last_of_a_loop(a, x, k):
    for i in range(1, k):
        change = a[i] - a[i - 1]
        square = change * change
        a[i] = square + x
        is_large = square > 2
    return change, square.sum(), is_large


def assigned_size(x, k):
    if x[0] > x[1]:
        k = k + 1
    for i in range(3):
        if x[i] > 0:
            k -= 1
    return k
