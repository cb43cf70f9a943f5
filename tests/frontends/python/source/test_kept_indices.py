"""Indices of loops that are read after the loop."""

import numpy as np
import pytest

import polysched as ps
from polysched.errors import PolyschedError
from tests.frontends.python.same_results import require_same_results

pytestmark = pytest.mark.usefixtures("as_written")


@ps.jit
def searches(x, top):
    for i in range(len(x)):
        if x[i] > top:
            break
    else:
        return -1, 0, 0
    first = i
    for i in range(len(x) - 1, -1, -1):
        if x[i] > top:
            break
    k = 0
    for k, v in enumerate(x):
        x[k] = v + 1
        if v > 2 * top:
            break
    return first, i, k


@ps.jit
def ends(x):
    last = 7
    for _ in range(2):
        for last in range(1, len(x), 3):
            x[last] += last
    for j in range(1, len(x), 3):
        x[j] += 1
    for k, v in enumerate(x):
        x[k] = v + last
    return last, j, k


def test_the_index_keeps_its_last_value() -> None:
    x = np.array([0.5, 3.0, 1.5, 7.0, 0.2])
    for top in (1.0, 2.0, 9.0):
        require_same_results(searches, searches.python, x, top)
    require_same_results(searches, searches.python, x[:0], 1.0)
    for length in (2, 5):
        require_same_results(ends, ends.python, x[:length])


def test_a_loop_without_an_iteration_is_an_error_as_in_python() -> None:
    for length in (0, 1):
        with pytest.raises(UnboundLocalError):
            ends.python(np.ones(length))
        with pytest.raises(PolyschedError):
            ends(np.ones(length))
