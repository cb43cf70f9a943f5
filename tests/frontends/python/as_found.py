"""Functions as numpy users write them, over vectors ``x``, ``y`` and matrices ``a``, ``b``."""

# ruff: noqa: B905
# mypy: disable-error-code="no-untyped-def"

import numpy as np

KERNEL = np.array([0.25, 0.5, 0.25])
WEIGHTS = (0.25, 0.5, 0.25)
NEIGHBORS = ((0, 1), (1, 0), (0, -1), (-1, 0))


def filters(x):
    same = np.convolve(x, KERNEL, mode="same")
    return same, np.convolve(x, WEIGHTS), np.correlate(x, KERNEL, "valid")


def triangles(a):
    return np.triu(a), np.tril(a, -1), np.trace(a[:, :5]), a.cumprod(axis=0)


def running(x, a):
    return np.maximum.accumulate(x), np.minimum.accumulate(a, axis=1), np.cumprod(x)


def norms(a, b):
    lengths = np.linalg.norm(a, axis=1)
    return lengths, np.linalg.norm(a, ord=1, axis=0), np.average(a, axis=0, weights=b * b + 1)


def grids(x, y):
    columns, rows = np.meshgrid(x[:3], y)
    first, second = np.meshgrid(x, y[:2], indexing="ij")
    return columns * rows, first + second


def contractions(a, b):
    return np.einsum("ij,kj->ik", a, b), np.einsum("ij,ij->i", a, b), np.einsum("ij->", a)


def borders(x, a):
    edge, turned = np.pad(x, 1, mode="edge"), np.pad(x, (2, 3), mode="reflect")
    return edge, turned, np.pad(a, ((1, 0), (2, 1)), "wrap"), np.pad(a, 1, mode="symmetric")


def inner_functions(x, alpha):
    def clamped(v, low=-1.0):
        if v < low:
            return low
        return v if v < alpha else alpha

    square = lambda v: v * v  # noqa: E731
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = clamped(x[i]) + square(x[i])
    return out


def scaled(x, scale=None, mode="abs", flip=False):
    if scale is None:
        scale = np.ones(len(x))
    y = np.abs(x) * scale if mode == "abs" else x * scale
    if flip:
        y = y[::-1].copy()
    return y


def optional_arguments(x, y):
    return scaled(x) + scaled(x, mode="raw") + scaled(x, scale=y, flip=True)


def early_return(x, k):
    if k < 3:
        return x + 1
    y = x * 2
    if x[0] > 0:
        return y[::-1].copy()
    return y


def every_side(x):
    if x[0] > 0:
        y = x * 2
    elif x[1] > 0:
        y = x + 1
    else:
        y = -x
    return y.sum(), y


def moved_names(x, y, k):
    before = x * 2
    now = y + 1
    for _ in range(k):
        after = 2 * now - before
        before = now
        now = after
    return before, now


def rotated_names(x, y, k):
    a, b, c = x * 2, y + 1, x - y
    for _ in range(k):
        a, b, c = b, c, a + b
    return a, b, c


def leapfrog(x, y, k):
    for _ in range(k):
        old = x
        x = x + 0.5 * y
        y = y - 0.5 * old
    return x, y


def written_out(x, a):
    total = np.zeros_like(a)
    for dy, dx in NEIGHBORS:
        total += np.roll(np.roll(a, dy, 0), dx, 1)
    rolled = sum(np.roll(x, i) * w for i, w in zip((-1, 0, 1), WEIGHTS) if i != 0)
    line = np.zeros_like(x)
    for factor in (1.5, -2.0, 0.25):
        line = line * x + factor
    return total, rolled, line, sum(v * v for v in x)


def unpacked(a):
    total = 0.0
    for i in range(a.shape[0]):
        first, second = a[i, :2]
        total += first * second
    return total


def listed(x, y):
    squares = np.array([v * v + i for i, v in enumerate(x)])
    peaks = np.array([x[i : i + 3].max() for i in range(0, len(x) - 2, 2)])
    larger = np.array([a > b for a, b in zip(x, y)])
    return squares, peaks, larger, np.array([2 * x for x in range(4)])


def listed_rows(a):
    return np.array([row - row.min() for row in a]), np.array([[v, v * v] for v in a[0]])


def listed_in_branches(x, alpha):
    total = 0.0
    if x[0] < alpha:
        y = np.array([v + 1 for v in x])
        total = y.sum()
    return total


def tuples_in_rows(a):
    out = np.zeros((len(a), 2))
    for i in range(len(a)):
        out[i] = a[i].max(), a[i].min()
    return out


CORNER = (1, 2)


def tuples_in_variables(x, a):
    best = (np.inf, -1)
    state = (1.0, 0)
    other = state
    for i in range(len(x)):
        first, count = state
        state = (first * 0.5 + x[i], count + 1)
        if x[i] < best[0]:
            best = (x[i], i)
    shape = (len(x), len(best))
    return best[1], state[0], state[-1], other[0], np.ones(shape), a[CORNER]


def literals_in_variables(x):
    weights = [0.25, 0.5, 0.25]
    steps = ((1, 2), (-1, 3))
    y = np.zeros(len(x))
    for i in range(1, len(x) - 1):
        for k in range(3):
            y[i] += weights[k] * x[i + k - 1]
        for step, factor in steps:
            y[i] += factor * x[i + step]
    return y, np.array(weights), sum(weights), len(steps)


def new_arrays_in_loops(alpha, k):
    state = np.array([1.0, 2.0, 3.0])
    for _ in range(k):
        state = state + alpha * np.array([state[1], -state[0], state[2]])
    return state


def sums_of_arrays(x, a):
    blurred = sum(x[i] * a[:, i : i + 3] for i in range(3))
    return blurred, sum(x[i] for i in range(3)), sum((x[0], x[1]))


def columns(x, a):
    return np.dstack((a, 2 * a)), np.dstack((x, x)), np.column_stack((x, a.T)), np.diag(x, -1)


NEXT = np.array([0, 1, -1])


def constants_as_distances(x, a):
    right = np.array([0, 2, -1])
    changed = np.array([1.0, 2.0])
    changed[0] += x[0]
    y, z = np.zeros_like(x), np.zeros_like(a)
    h, w = a.shape
    for k in range(3):
        for i in range(1, len(x) - 2):
            y[i] += x[i + right[k]] * NEXT[k]
        for i in range(h):
            for j in range(w):
                z[(i + NEXT[k]) % h, (j + right[k]) % w] += a[i, j]
    return y, z, changed, right[1], NEXT[-1]
