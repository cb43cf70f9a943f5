from __future__ import annotations

import math

import pytest

from polysched.frontends.scop.affine.integers import (
    floor,
    minus,
    negated,
    plus,
    product,
    quotient,
    remainder,
    selected,
)
from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.source.parse import parse
from polysched.frontends.scop.source.text import source_text
from polysched.ir.expr.evaluate import evaluate
from polysched.ir.expr.expressions import Constant, Parameter


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, -1, -2, -5])
def test_division_truncates_as_in_c(divisor: int) -> None:
    """Of literals, and of a size of which nothing, or only its sign, is known."""
    n = Parameter("n")
    for known, values in ((n >= 0, range(9)), (n <= 0, range(-8, 1)), (n <= 99, range(-8, 9))):
        scope = Scope(parse(source_text("int n;", "a.c")).source_map, {}, frozenset())
        scope.add_parameter("n")
        scope.assume(known)
        for value in values:
            whole = math.trunc(value / divisor)
            for operand in (n, Constant(value)):
                assert evaluate(quotient(scope, operand, divisor), {"n": value}) == whole
                rest = evaluate(remainder(scope, operand, divisor), {"n": value})
                assert rest == value - whole * divisor


def test_literals_are_computed() -> None:
    two, five = Constant(2), Constant(5)
    assert [plus(two, five), minus(two, five), product(two, five)] == [
        Constant(7),
        Constant(-3),
        Constant(10),
    ]
    assert (negated(five), floor(Constant(-5), 2)) == (Constant(-5), Constant(-3))


def test_a_selection_that_is_an_extremum_is_said_to_be_one() -> None:
    n, m = Parameter("n"), Parameter("m")
    assert str(selected(n < m, n, m)) == "min(n, m)"
    assert str(selected(n < m, m, n)) == "max(m, n)"
    assert str(selected(n <= m, n, Constant(3))).startswith("select")
