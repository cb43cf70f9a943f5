from collections.abc import Callable

import pytest
from hypothesis import given

from polysched.ir.core.kernel import Order
from polysched.ir.core.printing import format_array, format_expression, format_kernel, format_number
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32, i32, i64
from polysched.ir.expr.expressions import (
    Constant,
    Expression,
    Index,
    Load,
    Operand,
    Operation,
    Parameter,
    as_expression,
    typed,
)
from polysched.ir.expr.functions import absolute, cast, equal, exp, maximum, minimum, select
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import walk
from tests.support.expression_strategies import expressions, index_expressions

i, j, n = Index("i"), Index("j"), Parameter("n")
x = Load("x", (i + 1, 2 * j), f32)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (i + j + 1, "i + j + 1"),
        (i + (j + 1), "i + (j + 1)"),
        (i - (j - 1), "i - (j - 1)"),
        (2 * (i + j), "2*(i + j)"),
        (2 * i + j, "2*i + j"),
        ((i + 5) // 16, "(i + 5)//16"),
        (i * (j // 2), "i*(j//2)"),
        (-i, "-i"),
        (-(i + j), "-(i + j)"),
        (-i * j, "-i*j"),
        (i - -j, "i - -j"),
        (maximum(0, x), "max(0, x[i + 1, 2*j])"),
        (minimum(i + 1, n), "min(i + 1, n)"),
        (absolute(x) * exp(x), "abs(x[i + 1, 2*j])*exp(x[i + 1, 2*j])"),
        ((i < n) & (j < n) | (i <= j), "i < n and j < n or i <= j"),
        ((i < n) & ((j < n) | (i <= j)), "i < n and (j < n or i <= j)"),
        (~(equal(i, j) & (i < n)), "not (i == j and i < n)"),
        (~(i < n), "not i < n"),
        (select(i < n, i, 0), "select(i < n, i, 0)"),
        (cast(i + j, f32), "f32(i + j)"),
        (x * 0.5, "x[i + 1, 2*j]*0.5"),
        (Constant(-3, i64) * i, "-3*i"),
    ],
)
def test_format_expression(expression: Expression, expected: str) -> None:
    assert format_expression(expression) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "0"),
        (0.0, "0"),
        (-0.0, "-0.0"),
        (2.0, "2"),
        (0.1, "0.1"),
        (1e30, "1e+30"),
        (True, "True"),
        (float("inf"), "inf"),
        (-7, "-7"),
    ],
)
def test_format_number(number: float, expected: str) -> None:
    assert format_number(number) == expected


class _Named:
    def __init__(self, name: str) -> None:
        self.name = name

    def __getitem__(self, subscript: Expression) -> Load:
        return Load(self.name, (subscript,), f32)


_NAMES = {"i": i, "j": j, "n": n, "min": minimum, "max": maximum, "select": select}


def _parsed(text: str) -> Expression:
    arrays = {name: _Named(name) for name in "xy"}
    value: Operand = eval(text, {"__builtins__": {}}, {**_NAMES, **arrays})
    return as_expression(value)


# Python computes an operation on literals alone at once, so such trees are left out.


@given(index_expressions().filter(lambda expression: not _has_literals_only(expression)))
def test_index_expressions_parse_back_to_the_same_tree(expression: Expression) -> None:
    assert typed(_parsed(format_expression(expression)), i64) == expression


@given(expressions(f32).filter(lambda expression: not _has_literals_only(expression)))
def test_float_expressions_parse_back_to_the_same_tree(expression: Expression) -> None:
    assert typed(_parsed(format_expression(expression)), f32) == expression


def _has_literals_only(expression: Expression) -> bool:
    return any(isinstance(node, Operation) and _is_literal(node) for node in walk(expression))


def _is_literal(node: Expression) -> bool:
    match node:
        case Operation(operator=Operator.SELECT, operands=(_, *branches)):
            return all(map(_is_literal, branches))
        case Operation(operands=operands):
            return all(map(_is_literal, operands))
        case _:
            return isinstance(node, Constant)


def test_format_array_shows_stored_extents() -> None:
    build = KernelBuilder("k")
    size = build.parameter("n")
    handle = build.input("a", i32, (size + 2, 4))
    assert format_array(handle.array) == "a: i32[n + 2, 4]"


def test_format_kernel(check_golden: Callable[[str, str], None]) -> None:
    build = KernelBuilder("row_sums")
    size = build.parameter("n", minimum=1)
    a = build.input("a", f32, (size, 8))
    sums = build.output("sums", f32, (size,))
    with build.loops(r=size) as r:
        sums[r] = 0
        with (
            build.loops(c=(0, r + 1)) as c,
            build.where(c < 8),
            build.statement("add", order=Order.ANY),
        ):
            sums[r] = sums[r] + a[r, c]
    check_golden("ir/row_sums.txt", format_kernel(build.kernel()))
