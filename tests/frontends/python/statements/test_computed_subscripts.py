"""Subscripts that are computed from data: elements that labels, scales and tables select."""

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError, FrontendError, SubscriptError
from tests.frontends.python.same_results import require_same_results

pytestmark = pytest.mark.usefixtures("as_written")

DRAW = np.random.default_rng(3)


@ps.jit
def means_of_labels(points, labels, k):
    n, d = points.shape
    sums = np.zeros((k, d))
    counts = np.zeros(k, np.int64)
    for i in range(n):
        c = labels[i]
        counts[c] += 1
        sums[c] += points[i]
    for c in range(k):
        if counts[c] > 0:
            for j in range(d):
                sums[c, j] /= counts[c]
    return sums, counts


@ps.jit
def nearest(image, height, width):
    h, w = image.shape
    out = np.empty((height, width))
    for y in range(height):
        for x in range(width):
            out[y, x] = image[y * h // height, min(int(x * (w / width)), w - 1)]
    return out


@ps.jit
def path(back, last):
    steps = np.zeros(len(back), np.int64)
    steps[-1] = last
    for t in range(len(back) - 2, -1, -1):
        steps[t] = back[t + 1, steps[t + 1]]
    return steps


@ps.jit
def shifted(x, scale, start):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0.5:
            total += x[int(x[i] * scale) + start]
    return total


@ps.jit
def where_inside(x, places):
    out = np.empty(len(places))
    for i in range(len(places)):
        place = 2 * places[i]
        out[i] = x[place] if 0 <= place < len(x) else -1.0
    return out


@ps.jit
def knapsack(weights, values, capacity):
    best = np.zeros((len(weights) + 1, capacity + 1), np.int64)
    for i in range(1, len(weights) + 1):
        for c in range(capacity + 1):
            if weights[i - 1] <= c:
                best[i, c] = max(best[i - 1, c], values[i - 1] + best[i - 1, c - weights[i - 1]])
            else:
                best[i, c] = best[i - 1, c]
    return best[len(weights), capacity]


@ps.jit
def spread(points, centers, weights):
    total = 0.0
    for i in range(len(points)):
        best = 0
        for c in range(len(centers)):
            if abs(points[i, 0] - centers[c, 0]) < abs(points[i, 0] - centers[best, 0]):
                best = c
        total += np.sum((points[i] - centers[best]) ** 2) * weights[np.argmax(centers[best])]
    return total


def test_subscripts_inside_of_calls_and_calls_inside_of_subscripts() -> None:
    arguments = DRAW.integers(0, 9, (20, 2)) * 1.0, DRAW.random((4, 2)), np.arange(2.0)
    arguments = arguments[0], np.round(8 * arguments[1]), arguments[2]
    require_same_results(spread, spread.python, *arguments)


@pytest.mark.parametrize("n", [0, 1, 40])
def test_labels(n) -> None:
    arguments = DRAW.random((n, 3)), DRAW.integers(0, 5, n), 5
    require_same_results(means_of_labels, means_of_labels.python, *arguments)


@pytest.mark.parametrize(("n", "height", "width"), [(1, 1, 1), (20, 50, 33), (33, 20, 7)])
def test_scaled_coordinates(n, height, width) -> None:
    require_same_results(nearest, nearest.python, DRAW.random((n, n + 3)), height, width)


def test_a_path_through_a_table_that_follows_itself() -> None:
    require_same_results(path, path.python, DRAW.integers(0, 7, (40, 7)), 3)


def test_a_table_of_solutions() -> None:
    arguments = DRAW.integers(1, 9, 12), DRAW.integers(1, 50, 12), 40
    require_same_results(knapsack, knapsack.python, *arguments)


@pytest.mark.parametrize(("scale", "start"), [(49, 0), (49, -50), (5, -10)])
def test_subscripts_below_0_count_from_the_end(scale, start) -> None:
    require_same_results(shifted, shifted.python, np.linspace(0, 1, 50), scale, start)


@pytest.mark.parametrize(("scale", "start"), [(60, 0), (49, -90)])
def test_a_subscript_outside_raises_an_error_with_the_line(scale, start) -> None:
    x = np.linspace(0, 1, 50)
    for _ in range(2):  # the second call is known
        with pytest.raises(IndexError, match=r"line \d+: a subscript") as caught:
            shifted(x, scale, start)
        assert isinstance(caught.value, SubscriptError)
    with pytest.raises(IndexError):
        shifted.python(x, scale, start)


def test_a_subscript_that_python_does_not_evaluate_is_not_checked() -> None:
    require_same_results(where_inside, where_inside.python, np.arange(9.0), np.arange(-9, 9))
    assert shifted(np.linspace(0, 0.5, 50), 1000, 0) == 0.0  # no element selects another


def test_an_empty_array_is_refused_at_the_call() -> None:
    with pytest.raises((CallError, FrontendError), match="element outside|requires"):
        where_inside(np.arange(0.0), np.arange(3))
    require_same_results(where_inside, where_inside.python, np.arange(0.0), np.arange(0))
