"""``np.argmax`` and ``np.argmin``: the first index, also with ties, NaN and zeros of both signs."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps
from tests.support.effort import cases


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


SEARCHED = {np.float32, np.float16, np.int8}
"""Types for which schedules are searched; the others run in the order of the program."""


@pytest.fixture(params=VALUES)
def dtype(request: pytest.FixtureRequest) -> type:
    if request.param not in SEARCHED:
        request.getfixturevalue("as_written")
    return request.param  # type: ignore[no-any-return]


def test_positions_agree_with_numpy(dtype: type) -> None:
    generator = np.random.default_rng(1)
    for _ in range(cases(25)):
        # Rare values too: the first of a few extremes among many equal elements.
        parts = generator.dirichlet(np.full(len(VALUES[dtype]), 0.3))
        elements = generator.choice(len(parts), SHAPE, p=parts)
        check(np.array(VALUES[dtype], dtype)[elements])


def test_equal_elements(dtype: type) -> None:
    for value in VALUES[dtype]:
        check(np.full(SHAPE, value, dtype))


def test_the_search_is_two_reductions_in_any_order() -> None:
    largest(np.zeros(SHAPE))
    statements = largest.schedule.kernel.statements.values()
    assert sum(each.reduction is not None for each in statements) == 2
