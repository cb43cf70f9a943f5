"""Assignments under conditions on data, told apart from unconditional ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polysched.ir.core.guards import MOST_NODES, guarded_update, lowered_size, reads_guarded
from polysched.ir.core.kernel import Access, Array, Role
from polysched.ir.expr.dtypes import boolean, i32
from polysched.ir.expr.expressions import Constant, Expression, Index, Load
from polysched.ir.expr.functions import select

PLACE = (Index("i"),)
ARRAYS = {
    name: Array(name, i32, (Constant(9),), Role.INOUT, ("d",), guarded=name == "y")
    for name in ("x", "y")
}
X, Y = Load("x", PLACE, i32), Load("y", PLACE, i32)
FIVE, SIX = Constant(5, i32), Constant(6, i32)
POSITIVE, SMALL = X > 0, X < 9


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (select(POSITIVE, FIVE, Y), (POSITIVE, FIVE)),
        (select(POSITIVE, Y + 1, Y), (POSITIVE, Y + 1)),
        (
            select(POSITIVE, Y, FIVE),
            (select(POSITIVE, Constant(False), Constant(True)), FIVE),
        ),
        (
            select(POSITIVE, select(SMALL, FIVE, Y), Y),
            (
                select(POSITIVE, SMALL, Constant(False, boolean)),
                FIVE,
            ),
        ),
        (select(POSITIVE, Y, Y), (Constant(False, boolean), select(POSITIVE, Y, Y))),
        (select(POSITIVE, FIVE, SIX), None),
        (Y + 1, None),
    ],
)
def test_conditions_and_values(
    value: Expression, expected: tuple[Expression, Expression] | None
) -> None:
    found = guarded_update(Access("y", PLACE), value, ARRAYS)
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert tuple(map(str, found)) == tuple(map(str, expected))


def test_other_arrays_are_written_unconditionally() -> None:
    arrays = {**ARRAYS, "y": replace(ARRAYS["y"], guarded=False)}
    assert guarded_update(Access("y", PLACE), select(POSITIVE, FIVE, Y), arrays) is None


def test_another_element_is_no_old_value() -> None:
    other = Load("y", (Index("i") + 1,), i32)
    assert guarded_update(Access("y", PLACE), select(POSITIVE, FIVE, other), ARRAYS) is None


def test_nested_conditions_grow() -> None:
    value: Expression = FIVE
    sizes = []
    for _ in range(12):
        value = select(Y > 0, select(value > Y, Y, SIX), value)
        sizes.append(lowered_size(value, {"y"}))
    assert sizes[1] > 3 * sizes[0]
    assert sizes[-1] > MOST_NODES
    assert lowered_size(Y + X, {"y"}) == 5
    assert lowered_size(select(X > 0, Y, FIVE), {"y"}) == 12


def test_reads() -> None:
    assert reads_guarded(X + Y, {"y"})
    assert not reads_guarded(X + 1, {"y"})
