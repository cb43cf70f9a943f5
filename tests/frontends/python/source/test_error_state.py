"""``with np.errstate(...)`` is left out where it only silences errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy import errstate

import polysched as ps
from polysched.errors import FrontendError


def nested(x, y):
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        with errstate(all="ignore"):
            if y[i] > 0:
                out[i] = x[i] / y[i]
    return out


def raising(x, y):
    with np.errstate(divide="raise"):
        y[:] = x / y


def opened(x):
    with open("file") as file:
        x[:] = len(file.name)


def test_silent_states_change_no_value() -> None:
    x, y = np.array([1.0, 0.0, -2.0]), np.array([0.0, 0.0, 4.0])
    np.testing.assert_array_equal(ps.jit(nested)(x, y), nested(x, y))

    def returned(x, y):
        with np.errstate(divide="ignore", invalid="ignore"):
            return x / y

    np.testing.assert_array_equal(ps.jit(returned)(x, y), returned(x, y))


@pytest.mark.parametrize(("function", "count"), [(raising, 2), (opened, 1)])
def test_other_statements_are_refused(function: object, count: int) -> None:
    with pytest.raises(FrontendError, match="this 'with' is not supported; supported are"):
        ps.jit(function)(*[np.ones(3)] * count)
