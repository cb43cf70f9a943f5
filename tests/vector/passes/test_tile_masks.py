"""Conditions of rows and columns, evaluated."""

from dataclasses import replace

import pytest

from polysched.ir.core.kernel import Role
from polysched.ir.expr.evaluate import evaluate
from polysched.ir.expr.expressions import Constant, Expression, Index, Operand, Parameter
from polysched.ir.expr.traversal import transform
from polysched.loops.ir.nodes import For, If
from polysched.vector.passes.columns import Column, column_of
from polysched.vector.passes.tile_writing import active_lanes, column_mask
from tests.loops.programs import array, assign, load, vector

v, m, column = Index("v"), Parameter("m"), Index("column")
ARRAYS = {name: array(name, (64, 64), Role.INOUT) for name in ("x", "y")}


def lanes(lower: Operand, upper: Operand, step: int = 1) -> For:
    made = vector("v", lower, upper, assign("y", (0, v), load("x", v, 0)))
    return replace(made, lanes=8, step=step)


def columns(*guards: Expression | None) -> list[Column]:
    made = []
    for guard in guards:
        node = lanes(0, 8)
        found = column_of(node if guard is None else If(guard, node), ARRAYS)
        assert found is not None
        made.append(found)
    return made


def running(mask: Expression, count: int, value: int) -> list[bool]:
    return [bool(evaluate(_at(mask, number), {"m": value})) for number in range(count)]


def _at(mask: Expression, number: int) -> Expression:
    return transform(mask, lambda node: Constant(number) if node == column else None)


def test_literal_lanes_run_or_are_left_out() -> None:
    assert active_lanes(lanes(2, 5)) == [(2, None), (3, None), (4, None)]
    assert active_lanes(lanes(1, 20, step=3)) == [(1, None), (4, None), (7, None)]
    assert active_lanes(lanes(3, 3)) == []


@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("value", [0, 2, 5])
def test_parametric_lanes(value: int, step: int) -> None:
    found = active_lanes(lanes(m, m + 4, step))
    runs = [lane for lane, runs in found if runs is not None and evaluate(runs, {"m": value})]
    assert len(found) == 8
    assert runs == list(range(value, min(value + 4, 8), step))


def test_columns_without_guards() -> None:
    assert column_mask(columns(None, None), column) is None


@pytest.mark.parametrize("value", [0, 1, 3, 9])
def test_guards_in_a_line_are_one_comparison(value: int) -> None:
    for guards in ([m > 0, m > 1, m > 2], [m >= 1, m >= 2, m >= 3]):
        mask = column_mask(columns(*guards), column)
        assert mask is not None
        assert str(mask).count("<") == 1
        assert running(mask, 3, value) == [value > number for number in range(3)]


@pytest.mark.parametrize("value", [0, 1, 3, 9])
def test_other_guards(value: int) -> None:
    mask = column_mask(columns(m > 2, None, m < 2, m > 0), column)
    assert mask is not None
    assert running(mask, 4, value) == [value > 2, True, value < 2, value > 0]
