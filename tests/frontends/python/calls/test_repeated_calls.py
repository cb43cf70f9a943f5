"""Repeated calls of compiled functions give what first calls give."""

from typing import Annotated

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError


def scaled(x, factor, is_negative=False, offset=1.5):
    y = factor * x + offset
    if is_negative:
        y[:] = -y
    return y


SCALED = ps.jit(scaled)


def totals(x, at, counts):
    for i in range(len(at)):
        counts[at[i]] += 1
    return np.sum(x), len(x), counts, (x + 1)


def single(x):
    return (np.sum(x),)


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((2.5,), {}),
        ((np.float64(2.5),), {}),
        ((np.float32(2.5), True), {}),
        ((2.5, False, 4.0), {}),
        ((3,), {}),
        ((), {"factor": 2.5, "offset": -1.0}),
        ((2.5,), {"is_negative": True}),
        ((np.array(2.5),), {}),
    ],
)
def test_numbers(arguments, named, repeats) -> None:
    for size in range(3, 3 + repeats):
        for start in (1.0, -2.0):
            x = np.arange(start, start + size)
            found, expected = SCALED(x, *arguments, **named), scaled(x, *arguments, **named)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


def test_values_of_numbers_are_not_kept() -> None:
    x = np.ones(4)
    for factor in (1.0, 2.0, -3.0):
        for is_negative in (False, True):
            np.testing.assert_array_equal(
                SCALED(x, factor, is_negative), scaled(x, factor, is_negative)
            )


def test_results_of_all_kinds() -> None:
    function = ps.jit(totals)
    x, at, counts = np.arange(3.0), np.array([0, 2, 2]), np.zeros(3, np.int64)
    for number in (1, 2, 3):
        total, length, same, more = function(x, at, counts)
        assert (total, type(total), length, type(length)) == (3.0, np.float64, 3, int)
        assert same is counts
        assert counts.tolist() == [number, 0, 2 * number]
        assert more.tolist() == [1, 2, 3]
        assert more is not function(x, at, counts.copy())[3]
    one = ps.jit(single)
    assert one(x) == one(x) == (3.0,)


def test_subscripts_are_checked_at_every_call() -> None:
    function = ps.jit(totals)
    x, counts = np.arange(3.0), np.zeros(3, np.int64)
    good, bad = np.array([0, 2, 2]), np.array([0, 3, 2])
    function(x, good, counts)
    function(x, good, counts)
    with pytest.raises(CallError, match="array 'at'"):
        function(x, bad, counts)
    assert counts.tolist() == [2, 0, 4]


def test_views_and_overlap() -> None:
    @ps.jit
    def added(x, y):
        y += x
        return y

    a = np.arange(24.0).reshape(4, 6)
    for _ in range(2):
        for view in (a, a.T, a[:, ::2], a[::-1]):
            given, expected = view.copy(), view + view
            assert added(view.copy(), given) is given
            np.testing.assert_array_equal(given, expected)
        with pytest.raises(CallError, match="overlap"):
            added(a, a[::-1])
        twice = a.copy()
        assert added(twice, twice) is twice
        np.testing.assert_array_equal(twice, a + a)


@ps.kernel
def moved(x: ps.Array[ps.f64, "n"], k: int):  # noqa: F821
    for i in range(x.shape[0]):
        x[i] = x[i] + k


@pytest.mark.parametrize("number", [int, np.int64, np.array])
def test_sizes_are_compared_by_value(number) -> None:
    for k in (1, 2, 1, -3):
        x = np.arange(4.0)
        moved(x, number(k))
        assert x.tolist() == [k, k + 1, k + 2, k + 3]


@pytest.mark.parametrize("number", [2.0, np.float32(2), True])
def test_sizes_must_be_integers(number) -> None:
    with pytest.raises(CallError, match="parameter 'k' is .*; expected an integer"):
        moved(np.arange(4.0), number)


def test_numbers_that_are_returned() -> None:
    @ps.jit
    def kept(x, factor):
        x *= factor
        return factor

    @ps.jit
    def doubled(x, factor):
        factor *= 2
        x *= factor
        return factor

    for factor in (2.0, -1.5, np.float64(3.0), np.float64(4.0)):
        for _ in range(2):
            x = np.ones(3)
            found = kept(x, factor), doubled(x, factor)
            assert found == (factor, 2 * factor)
            assert type(found[0]) is type(found[1]) is type(factor)
            assert x.tolist() == [2 * factor**2] * 3


def test_a_python_float_for_a_narrow_number() -> None:
    @ps.kernel
    def scale(x: ps.Array[ps.f32, "n"], factor: Annotated[float, "f32"]):  # noqa: F821
        for i in range(x.shape[0]):
            x[i] = factor * x[i]

    x = np.ones(3, np.float32)
    for _ in range(3):
        scale(x, 2.0)
    assert x.tolist() == [8, 8, 8]
    scale(x, np.float32(0.5))
    scale(x, factor=np.float32(0.5))
    assert x.tolist() == [2, 2, 2]
