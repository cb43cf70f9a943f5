"""Conditions whose operands are literals."""

from __future__ import annotations

import polysched as ps
from polysched.ir.expr.expressions import Constant, Expression, Load
from polysched.ir.expr.functions import cast, not_equal, select
from polysched.ir.expr.literal_conditions import FALSE, TRUE, folded
from polysched.ir.expr.traversal import transform

X, FLAG = Load("x", (), ps.i32), Load("flag", (), ps.u8)
ONE = Constant(1, ps.i32)


def whole(value: Expression) -> Expression:
    return transform(value, folded)


def test_conditions_with_literals_are_evaluated() -> None:
    assert whole(~not_equal(Constant(0, ps.i32), Constant(0, ps.i32))) == TRUE
    assert whole((X < 3) & FALSE) == FALSE
    assert whole((X < 3) & TRUE) == (X < 3)
    assert whole(select(TRUE, X, ONE)) == X
    assert whole(select(not_equal(ONE, Constant(0, ps.i32)), X, ONE)) == X


def test_conversions_there_and_back_are_dropped_unless_they_lose_bits() -> None:
    assert whole(cast(cast(FLAG, ps.i32), ps.u8)) == FLAG
    narrow = cast(cast(X, ps.u8), ps.i32)
    assert whole(narrow) == narrow
