"""Periodic subscripts with shifts that are arguments."""

import numpy as np
import pytest

import polysched as ps
from tests.frontends.python.same_results import require_same_results

pytestmark = pytest.mark.usefixtures("as_written")


@ps.jit
def shifted(x, k):
    out = np.zeros_like(x)
    n = len(x)
    for i in range(n):
        out[i] = x[(i + k) % n]
    return out


@ps.jit
def rolled(x, k):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, (j - k) % x.shape[1]] += x[(i + 1) % len(x), 0]


@ps.jit
def scaled(x, k):
    n = len(x)
    for i in range(n):
        x[(i * k) % n] = 1


@pytest.mark.parametrize("k", [0, 1, 2, -3, 40, -50])
def test_shifts(k) -> None:
    require_same_results(shifted, shifted.python, np.arange(50.0), k)
    require_same_results(rolled, rolled.python, np.arange(24.0 * 60).reshape(24, 60), k)


@pytest.mark.parametrize("k", [50, 52, -51, 1234, 3])
def test_shifts_outside_of_one_period_are_compiled_for_the_call(k: int) -> None:
    require_same_results(shifted, shifted.python, np.arange(50.0), k)


def test_a_product_of_indices_is_computed() -> None:
    require_same_results(scaled, scaled.python, np.arange(50.0), 40)
