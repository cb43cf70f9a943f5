"""``np.argmax`` and ``np.argmin``: the first index, also with ties, NaN and zeros of both signs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polysched as ps


@ps.jit
def positions(a):  # type: ignore[no-untyped-def]
    return np.argmax(a), a.argmin(axis=1)


@ps.jit
def largest(a):  # type: ignore[no-untyped-def]
    return np.argmax(a)


def check(a: np.ndarray) -> None:
    expected = np.argmax(a), a.argmin(axis=1)
    for got, wanted in zip(positions(a), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


SHAPE = 17, 21  # of one size, so that each type is compiled once
VALUES = {
    np.float32: [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf],
    np.float64: [0.0, -0.0, 1e-320, -1e-320],
    np.float16: [0.0, -0.0, 1.0, 65504.0, np.nan],
    np.int8: [-128, 0, 127],
    np.uint64: [0, 1, 2**64 - 1],
    np.int64: [-(2**63), -1, 0, 2**63 - 1],
    np.bool_: [False, True],
}


@pytest.mark.parametrize("dtype", VALUES)
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_positions_agree_with_numpy(dtype: type, data: st.DataObject) -> None:
    values = st.sampled_from(VALUES[dtype])
    count = SHAPE[0] * SHAPE[1]
    elements = data.draw(st.lists(values, min_size=count, max_size=count))
    check(np.array(elements, dtype).reshape(SHAPE))


@pytest.mark.parametrize("dtype", VALUES)
def test_equal_elements(dtype: type) -> None:
    for value in VALUES[dtype]:
        check(np.full(SHAPE, value, dtype))


def test_the_search_is_two_reductions_in_any_order() -> None:
    largest(np.zeros(SHAPE))
    statements = largest.schedule.kernel.statements.values()
    assert sum(each.reduction is not None for each in statements) == 2
