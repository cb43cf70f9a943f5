"""The ranges of integers hold what the operations give."""

import itertools

import pytest

from polysched.frontends.python.values.intervals import INT64, Interval, Ranges
from polysched.ir.expr.dtypes import i8, i64, u8
from polysched.ir.expr.expressions import (
    Cast,
    Constant,
    Expression,
    Index,
    Load,
    Parameter,
    operation,
)
from polysched.ir.expr.functions import select
from polysched.ir.expr.operators import Operator
from polysched.ir.semantics.scalar import evaluate

UNARY = (Operator.NEGATE, Operator.ABSOLUTE, Operator.BIT_NOT)
BINARY = (
    *(Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY, Operator.FLOOR_DIVIDE, Operator.MODULO),
    *(Operator.MINIMUM, Operator.MAXIMUM, Operator.BIT_AND, Operator.BIT_OR, Operator.BIT_XOR),
    Operator.SHIFT_RIGHT,
)
NO_LOOPS: dict[str, tuple[Expression, Expression]] = {}


def ranges(**known: Interval) -> Ranges:
    return Ranges(lambda name: known[name], {})


@pytest.mark.parametrize("operator", [*UNARY, *BINARY], ids=lambda one: one.name)
def test_all_results_are_inside(operator: Operator) -> None:
    names = ("a",) if operator in UNARY else ("a", "b")
    expression = operation(operator, *map(Parameter, names))
    for ends in itertools.product(((-5, 7), (2, 6), (-9, -3), (0, 0)), repeat=len(names)):
        given = {name: Interval(*one) for name, one in zip(names, ends, strict=True)}
        found, _ = ranges(**given).of(expression, NO_LOOPS)
        for values in itertools.product(*(range(one[0], one[1] + 1) for one in ends)):
            variables = dict(zip(names, values, strict=True))
            if operator is Operator.SHIFT_RIGHT and variables["b"] < 0:
                continue
            result = evaluate(expression, lambda *_: None, variables)
            assert found.lowest <= result <= found.highest


def test_what_is_computed_on_the_way() -> None:
    a = Parameter("a")
    found, inside = ranges(a=Interval(0, 2**40)).of((a * a * 5) % 7, NO_LOOPS)
    assert (found, inside) == (Interval(0, 6), Interval(0, 5 * 2**80))


def test_an_index_is_between_its_bounds() -> None:
    n, i = Parameter("n"), Index("i")
    indices = {"i": (Constant(0), n - 1), "j": (i, n - 1)}
    here = ranges(n=Interval(0, 10))
    assert here.of(Index("j") - i, indices)[0] == Interval(-9, 9)
    assert here.iterations(indices) == 100
    assert here.used == {"n"}


def test_what_numpy_computes_is_in_its_type() -> None:
    x = Load("x", (), i8)
    here = ranges()
    assert here.of(Cast(x, i64), NO_LOOPS)[0] == Interval(-128, 127)
    assert here.of(Cast(x + x, i64), NO_LOOPS)[0] == Interval(-128, 127)
    assert here.of(Cast(x % Constant(7, i8), i64), NO_LOOPS)[0] == Interval(0, 6)
    assert here.of(Cast(Cast(x, u8), i64), NO_LOOPS)[0] == Interval(0, 255)
    chosen = select(x < 3, Constant(1, i64), Constant(4, i64))
    assert here.of(chosen, NO_LOOPS)[0] == Interval(1, 4)


def test_bits() -> None:
    assert [Interval(*ends).bits for ends in ((0, 0), (-1, 0), (0, 1), (-128, 127))] == [1, 1, 2, 8]
    assert INT64.bits == 64
