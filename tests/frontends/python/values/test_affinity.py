"""Which values are affine, and the smallest part of an expression that is not."""

import ast

import pytest

from polysched.frontends.python.values.affinity import culprit, is_affine_number
from polysched.frontends.python.values.operations import combine
from polysched.frontends.python.values.value import Value, number
from polysched.ir.expr.affine import instance_space
from polysched.ir.expr.dtypes import f32, i64
from polysched.ir.expr.expressions import Index, Load
from polysched.ir.expr.operators import Operator

INDEX = Value(Index("i"), is_weak=True)
DATA = Value(Load("x", (), i64))


def test_affine_numbers() -> None:
    assert is_affine_number(combine(Operator.ADD, INDEX, number(1)))
    assert not is_affine_number(combine(Operator.MULTIPLY, INDEX, number(0.5)))
    assert not is_affine_number(DATA)
    assert not is_affine_number(Value(Load("x", (), f32), is_weak=True))


def value(node: ast.expr) -> Value:
    match node:
        case ast.BinOp(left=left, right=right):
            return combine(Operator.MULTIPLY, value(left), value(right))
        case ast.Name(id="x"):
            return DATA
        case ast.Name():
            return INDEX
    return number(2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i * 2", None),
        ("(i * i) * 2", "i * i"),
        ("2 * (2 * x)", "x"),
        ("2 * i * (2 * i)", "2 * i * (2 * i)"),
    ],
)
def test_the_smallest_part_is_found(text: str, expected: str | None) -> None:
    node = ast.parse(text, mode="eval").body
    found, reason = culprit([node], value, instance_space((), "", ["i"]))
    assert (found and ast.unparse(found)) == expected
    assert bool(reason) == bool(found)
