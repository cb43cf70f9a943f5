"""Updates in branches over data are reductions, with the values of Python bit for bit."""

import numpy as np
import pytest

import polysched as ps
from polysched.frontends.python.decorator import read_kernel
from tests.frontends.python.same_results import require_same_results

# ruff: noqa: F821


@ps.jit
def counted(x, top):
    count, total, product, least = 0, np.float64(-0.0), np.float64(1), np.float64(np.inf)
    for i in range(len(x)):
        if x[i] > top:
            count += 1
            total += x[i]
            product *= x[i]
            least = min(least, x[i])
        elif x[i] < -top:
            count -= 1
            total -= x[i]
    return count, total, product, least


@pytest.mark.parametrize("top", [0.5, 2.0])
@pytest.mark.parametrize("n", [0, 1, 100])
def test_updates_keep_every_bit(n, top) -> None:
    x = np.random.default_rng(n).random(n) * 2 - 1
    require_same_results(counted, counted.python, x, top)
    assert np.signbit(counted(np.zeros(7), 0.5)[1])  # -0.0 stays -0.0


def test_a_nan_that_no_branch_takes_is_kept() -> None:
    x = np.array([1.0, np.nan, 2.0, -3.0])
    require_same_results(counted, counted.python, x, 0.5)


def test_updates_are_reductions() -> None:
    def conditional(x: "i32[n]", sums: "i32[3]"):
        for i in range(len(x)):
            if x[i] > 3:
                sums[0] += x[i]
                sums[1] = x[i] | sums[1]
                sums[2] = x[i]

    statements = read_kernel(conditional).statements.values()
    assert [one.reduction is not None for one in statements] == [True, True, False]
