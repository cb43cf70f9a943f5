"""Variables that only a loop or branch sets, for sizes with which it is never run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.errors import UnboundError


def returned(x, n):
    for i in range(n):
        last = x[i] * 2
    return last


def read(x, n):
    for i in range(n):
        last = x[i] * 2
    return last + 1


def inner(x, n):
    for i in range(n):
        for j in range(i):
            last = x[j]
        if i > 0:
            x[i] += last
    return last


def array(x, n):
    for i in range(n):
        scaled = x * i
    return scaled


FUNCTIONS = {"returned": returned, "read": read, "inner": inner, "array": array}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_variable_without_a_value_is_an_error(name: str) -> None:
    function: Callable[..., Any] = FUNCTIONS[name]
    compiled = ps.jit(function)
    for n in (4, 0, 1, 2, 0):
        expected, found = np.arange(1.0, 6.0), np.arange(1.0, 6.0)
        try:
            result = function(expected, n)
        except UnboundLocalError:
            variable = "scaled" if name == "array" else "last"
            with pytest.raises(UnboundError, match=f"'{variable}' .* give it a value before"):
                compiled(found, n)
        else:
            np.testing.assert_array_equal(compiled(found, n), result, strict=True)
        np.testing.assert_array_equal(found, expected)


def test_the_error_names_the_sizes() -> None:
    def last(x):
        for value in x:
            found = value
        return found

    compiled = ps.jit(last)
    with pytest.raises(UnboundLocalError, match=r"'found' is returned, .* with x.shape\[0\] = 0"):
        compiled(np.zeros(0))
    assert compiled(np.arange(3.0)) == 2
