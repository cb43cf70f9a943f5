"""The classification of accesses and lanes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polysched.ir.core.kernel import Array, Role
from polysched.ir.core.packing import Rows
from polysched.ir.expr.dtypes import as_dtype, i8, i64
from polysched.ir.expr.expressions import Constant, Index, Load, Operand, Parameter, as_expression
from polysched.ir.expr.linear_form import LinearForm
from polysched.loops.ir.nodes import For
from polysched.vector.classify import (
    Strides,
    element_offset,
    has_all_lanes,
    lane_distances,
    lane_steps,
    lanes_where,
    literal_lanes,
    literal_strides,
    row_major,
    surely_runs,
)
from tests.loops.programs import array, assign, load, vector

i, v, n = Index("i"), Index("v"), Parameter("n")


def offset_of(*subscripts: Operand, strides: Strides) -> tuple[int | None, int]:
    offset = element_offset(strides, [as_expression(one) for one in subscripts], "v")
    return offset.lane, offset.literal.constant


def test_distance_of_consecutive_lanes() -> None:
    assert offset_of(i, v + 3, strides=(8, 1)) == (1, 3)
    assert offset_of(v, i, strides=(8, 1)) == (8, 0)
    assert offset_of(i, 5 - 2 * v, strides=(8, 1)) == (-2, 5)
    assert offset_of(i, i, strides=(8, 1)) == (0, 0)
    assert offset_of(v, v, strides=(8, 1)) == (9, 0)


def test_distance_that_is_not_literal() -> None:
    assert offset_of(i, v % 3, strides=(8, 1)) == (None, 0)
    assert offset_of(v, i, strides=(None, 1)) == (None, 0)
    assert offset_of(i, v, strides=(None, 1)) == (1, 0)


def test_forms_without_the_lane() -> None:
    offset = element_offset((1,), (2 * i + v + 1,), "v")
    assert offset.literal == LinearForm(((i, 2),), 1)


def test_alignment() -> None:
    def alignment(*subscripts: Operand, base: int = 64) -> int:
        given = [as_expression(one) for one in subscripts]
        return element_offset((16, 1), given, "v").alignment(base, 4)

    assert alignment(i, v) == 64
    assert alignment(i, v + 4) == 16
    assert alignment(i, v + 16 * i) == 64
    assert alignment(i, v + 2 * i) == 8
    assert alignment(i, v + 1) == 4
    assert alignment(0, v, base=4) == 4


def distances(*subscripts: Operand, strides: Strides = (1,)) -> tuple[object, ...] | None:
    given = [as_expression(one) for one in subscripts]
    offset = element_offset(strides, given, "v")
    found = lane_distances(strides, given, offset, "v", 4)
    return None if found is None else (found[0].literal.constant, found[1])


def test_literal_distances() -> None:
    assert distances(3 * v + 5) == (5, (0, 3, 6, 9))
    assert distances(5 - 2 * v) == (-1, (6, 4, 2, 0))
    assert distances(2 * i + v // 2) == (0, (0, 0, 1, 1))
    assert distances(v, i, strides=(None, 1)) is None
    assert distances(load("x", v, dtype=i8)) is None
    assert distances(3 * v + load("x", i, dtype=i64)) is None


def test_steps_in_each_dimension() -> None:
    steps = lane_steps((2 * v + i, v // 2 + 1), "v")
    assert steps.steps == (2, 0)
    assert not steps.is_linear
    assert lane_steps((i, v + 1), "v").are_along(-1)
    assert not lane_steps((v, v + 1), "v").are_along(-1)
    assert lane_steps((i, 5 - v), "v").are_along(-1, step=-1)
    assert lane_steps((i, 5 - v), None).is_broadcast
    assert lane_steps((Load("x", (v,), i8),), "v").is_data_dependent


@pytest.mark.parametrize(
    ("subscripts", "expected"),
    [
        ((n, v + 16), True),
        ((n, v + 17), False),
        ((n, v - 1), False),
        ((n, 23 - v), True),
        ((n, 24 - v), False),
        ((n, 6 - v), False),
        ((n, 8 * i + v), True),
        ((n, 8 * i + v + 1), False),
        ((n, n + v), False),
        ((v, i), False),
        ((n, 2 * v), True),
    ],
)
def test_an_array_that_has_the_elements_of_all_lanes(
    subscripts: tuple[Operand, ...], expected: bool
) -> None:
    """Of 8 lanes in an array of n by 24 elements."""
    shape, forms = (n, Constant(24)), [as_expression(one) for one in subscripts]
    assert has_all_lanes(shape, forms, "v", 8, {"i": (0, 2)}) == expected


def test_row_major() -> None:
    assert row_major((2, 3, 4), 1, int.__mul__) == (12, 4, 1)
    assert row_major((), 1, int.__mul__) == ()


def test_literal_strides() -> None:
    known = {"n": (7, 7)}
    given = array("a", (n, n + 1), Role.INPUT)
    assert literal_strides(given) == (None, 1)
    assert literal_strides(given, known) == (8, 1)
    strided = replace(given, strides=(Constant(20), Constant(2)))
    assert literal_strides(strided) == (20, 2)
    extents = (Constant(3), Constant(5))
    packed = Array("w", as_dtype("i5"), extents, Role.INPUT, ("a", "b"), rows=Rows.PADDED)
    assert literal_strides(packed) == (32, 5)
    assert literal_strides(replace(packed, rows=Rows.CONTIGUOUS)) == (25, 5)


def lanes(lower: Operand, upper: Operand, step: int = 1) -> For:
    return replace(vector("v", lower, upper, assign("y", (v,), load("x", v))), lanes=8, step=step)


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        (lanes(0, 8), range(8)),
        (lanes(-3, 20), range(8)),
        (lanes(2, 7, step=2), (2, 4, 6)),
        (lanes(-1, 7, step=2), (1, 3, 5)),
        (lanes(5, 5), ()),
        (lanes(0, n), range(3)),
        (lanes(i, 8), None),
    ],
)
def test_literal_lanes(loop: For, expected: tuple[int, ...] | None) -> None:
    found = literal_lanes(loop, {"n": (3, 3)})
    assert (None if found is None else tuple(found)) == (expected and tuple(expected))


def test_lanes_where_a_condition_holds() -> None:
    assert lanes_where(v % 3 < 1, range(8), "v", {}) == (0, 3, 6)
    assert lanes_where(v < n, range(8), "v", {"n": (9, None)}) == tuple(range(8))
    assert lanes_where(v < n, range(8), "v", {"n": (1, 3)}) is None


def test_a_loop_that_surely_runs() -> None:
    assert surely_runs(lanes(0, n), {"n": (1, None)})
    assert not surely_runs(lanes(0, n), {"n": (0, None)})
    assert not surely_runs(lanes(0, n), {})
