"""Python's functions of the elements of arrays and generators."""

import numpy as np
import pytest

import polysched as ps
from polysched.errors import FrontendError, PolyschedError
from tests.frontends.python.same_results import require_same_results

pytestmark = pytest.mark.usefixtures("as_written")


@ps.jit
def of_arrays(x, u):
    return sum(x), max(x), min(-x), sum(x > 0.5), any(x > 2), all(x != 1), sum(u), max(u[1:])


@ps.jit
def of_generators(x):
    y = x.copy()
    for i in range(len(x)):
        y[i] = max(v * x[i] for v in x) + min([abs(v - 1) for v in x[: i + 1]])
    return y, any(v > 2 for v in x if v < 4), all(v < w for v, w in zip(x, y))  # noqa: B905


def test_the_results_are_those_of_python() -> None:
    u = np.array([100, 100, 3], dtype=np.uint8)
    x = np.array([0.5, 3.0, 1.5, 1.0, 0.2])
    for given in (x, x[::-1].copy(), np.array([np.nan, 1, 2]), np.array([1, np.nan]), x[:1]):
        require_same_results(of_arrays, of_arrays.python, given, u)
        require_same_results(of_generators, of_generators.python, given)


def test_no_elements_have_no_maximum() -> None:
    with pytest.raises(PolyschedError):
        of_arrays(np.ones(0), np.ones(3, np.uint8))


@ps.jit
def of_a_matrix(a):
    return max(a)


def test_arrays_with_several_dimensions_are_refused() -> None:
    with pytest.raises(FrontendError, match="one dimension; np.max takes others"):
        of_a_matrix(np.ones((2, 2)))
