"""Loops whose bounds are data: rows of sparse matrices, segments, lists of neighbors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import polysched as ps

N, LEAST = 9, np.array([0, 3, 3, 2, 8, 1, 12, 12, 30, 30])
ENTRIES = 30


def rows(ptr, col, val, x, y):
    for i in range(len(ptr) - 1):
        s = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            s += val[k] * x[col[k]]
        y[i] = s


def columns(ptr, col, val, x, y):
    for j in range(len(x)):
        first, last = ptr[j], ptr[j + 1]
        for k in range(first, last):
            row = col[k]
            y[row] += val[k] * x[j]


def neighbors_of_neighbors(ptr, col, val, x, y):
    for v in range(len(y)):
        for e in range(ptr[v], ptr[v + 1]):
            u = col[e]
            for _ in range(ptr[u], ptr[u]):
                y[v] += 1.0
            for f in range(u):
                y[v] += val[f] * x[v]


def positions(ptr, col, val, x, y):
    for i in range(len(y)):
        for j in range(ptr[i + 1]):
            y[i] += val[(j + col[i]) % 7] if j < 4 else 1.0


def changed_inside(ptr, col, val, x, y):
    end = ptr[4]
    for k in range(ptr[2], end):
        end = col[k]
        y[end] += val[k]
    y[0] = end


def arguments(dtype: type) -> dict[str, np.ndarray]:
    random = np.random.default_rng(5)
    return {
        "ptr": LEAST.astype(dtype),
        "col": random.integers(0, N, ENTRIES).astype(dtype),
        "val": random.random(ENTRIES),
        "x": random.random(N),
        "y": random.random(N),
    }


@pytest.mark.usefixtures("as_written")
@pytest.mark.parametrize("dtype", [np.int32, np.uint64], ids=lambda one: one.__name__)
@pytest.mark.parametrize(
    "function", [rows, columns, neighbors_of_neighbors, positions, changed_inside]
)
def test_bounds_from_data(function: Callable[..., None], dtype: type) -> None:
    expected, given = arguments(dtype), arguments(dtype)
    function(**expected)
    ps.jit(function)(**given)
    for name, array in expected.items():
        assert array.tobytes() == given[name].tobytes(), name


@pytest.mark.parametrize("wrong", [(0, -1), (4, ENTRIES + 1), (9, 2**31 - 1)])
def test_a_loop_that_leaves_its_array_is_an_error(wrong: tuple[int, int]) -> None:
    compiled, given = ps.jit(rows), arguments(np.int32)
    compiled(**given)
    given["ptr"][wrong[0]] = wrong[1]
    with pytest.raises(IndexError, match="line"):
        compiled(**given)


def test_rows_run_on_vectors_and_threads_where_sums_are_free() -> None:
    given = arguments(np.int64)
    given["ptr"] = np.array([0, 0, 400, 1000, 1001, 2500, 2500, 2510, 3999, 4000])
    given["col"] = np.resize(given["col"], 4000)
    given["val"] = np.resize(given["val"], 4000)
    compiled = ps.jit(rows, fastmath=True, threads=2)
    expected = {name: array.copy() for name, array in given.items()}
    compiled(**given)
    rows(**expected)
    np.testing.assert_allclose(given["y"], expected["y"], rtol=1e-12)
    assert compiled.schedule.steps
