"""One array passed as several arguments of a function that writes it."""

from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError
from polysched.frontends.python.calls.signatures import shared_arguments

pytestmark = pytest.mark.usefixtures("as_written")


def prefix_sums(a, b):
    for i in range(1, len(a)):
        a[i] = a[i - 1] + b[i]


def slices(a, b):
    a[:] = a + 2 * b
    a[1:] += b[:-1]
    b[:-1] -= a[1:]


def second_is_written(a, b):
    b[1:] = a[:-1] + 1


def rebound(a, b):
    a[0] = 5
    b = b + a
    b[1] = 7
    return a, b


FUNCTIONS = [prefix_sums, slices, second_is_written, rebound]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_same_array_twice(function: Any) -> None:
    own = ps.jit(function)
    for _ in range(3):  # the second time from the caches of calls
        for is_shared in (True, False, True):
            x, y = np.arange(9.0) + 1, np.arange(9.0) + 1
            others = [one if is_shared else one[::-1].copy() for one in (x, y)]
            found, expected = own(x, others[0]), function(y, others[1])
            np.testing.assert_array_equal(x, y)
            np.testing.assert_array_equal(*others)
            if expected is not None:
                np.testing.assert_array_equal(found, expected)
    assert "b = a" in own.signatures[-1]


def product(a, b, c):
    c[:] = a @ b


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_product_into_its_operand(order: str) -> None:
    given = np.arange(9.0).reshape(3, 3)
    a = np.array(given, order=order)  # type: ignore[call-overload]
    ps.jit(product)(a, a, a)
    np.testing.assert_array_equal(a, given @ given)


def test_parts_that_overlap_are_refused() -> None:
    x = np.arange(9.0)
    with pytest.raises(CallError, match="overlap in memory"):
        ps.jit(prefix_sums)(x[1:], x[:-1])
    np.testing.assert_array_equal(x, np.arange(9.0))


def test_arrays_that_are_only_read_are_no_kind_of_their_own() -> None:
    x, empty = np.zeros(3), np.zeros(0)
    assert shared_arguments({"a": x, "b": x, "n": 3}, ["a"]) == {"b": "a"}
    assert shared_arguments({"a": x, "b": x}, []) == {}
    assert shared_arguments({"a": x, "b": x[::-1], "c": x[:2]}, ["a", "b", "c"]) == {}
    assert shared_arguments({"a": empty, "b": empty}, ["a", "b"]) == {}
