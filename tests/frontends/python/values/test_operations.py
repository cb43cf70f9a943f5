"""Operators on values: as numpy's scalars and Python's numbers combine."""

import operator as python

import numpy as np
import pytest

from polysched.errors import KernelError
from polysched.frontends.python.values.operations import combine
from polysched.frontends.python.values.value import Value, number
from polysched.ir.expr.dtypes import DType, boolean, f32, f64, i8, i32, i64, u8, u64
from polysched.ir.expr.expressions import Constant, Index, Load
from polysched.ir.expr.operators import Operator
from polysched.ir.semantics.scalar import evaluate

INDEX = Value(Index("i"), is_weak=True)


def element(dtype: object) -> Value:
    return Value(Load("x", (), dtype))  # type: ignore[arg-type]


def test_numbers_are_computed_as_python_computes_them() -> None:
    for operator, left, right, expected in (
        (Operator.DIVIDE, 1, 2, 0.5),
        (Operator.FLOOR_DIVIDE, -7, 2, -4),
        (Operator.MODULO, -7, 3, 2),
        (Operator.POWER, 2, -1, 0.5),
        (Operator.ADD, 0.1, 0.2, 0.1 + 0.2),
    ):
        found = combine(operator, number(left), number(right))
        assert found == number(expected)
        assert type(found.literal) is type(expected)
    assert combine(Operator.LESS, number(1), number(2)).expression == Constant(True, boolean)


@pytest.mark.parametrize("dtype", [f32, f64, i32, i64])
def test_types_are_those_of_numpy(dtype: object) -> None:
    one = element(dtype)
    scalar = one.dtype.numpy().type(3)
    for other, weak in ((number(2), 2), (INDEX, 2)):
        for operator, result in (
            (Operator.ADD, scalar + weak),
            (Operator.MULTIPLY, weak * scalar),
            (Operator.DIVIDE, scalar / weak),
        ):
            found = combine(operator, one, other)
            assert found.dtype.numpy() == result.dtype
            assert not found.is_weak


def test_weak_values_stay_weak() -> None:
    found = combine(Operator.DIVIDE, INDEX, number(3))
    assert found.is_weak
    assert found.dtype == f64
    assert combine(Operator.ADD, INDEX, number(1)).dtype == i64
    assert combine(Operator.MULTIPLY, INDEX, number(0.5)).dtype == f64
    assert combine(Operator.ADD, found, element(f32)).dtype == f32
    assert combine(Operator.LESS, INDEX, number(1)).dtype == boolean


def test_what_python_cannot_compute() -> None:
    for operator, values, message in (
        (Operator.DIVIDE, (number(1), number(0)), "division by zero"),
        (Operator.POWER, (number(-2), number(0.5)), "complex number"),
        (Operator.POWER, (number(10.0), number(400)), "out of range"),
    ):
        with pytest.raises(KernelError, match=message):
            combine(operator, *values)


def test_a_number_of_a_type_is_no_python_number() -> None:
    """numpy computes in the type: 1 - 3 is 254 of its 8 bits."""
    one, three = (Value(Constant(number, u8)) for number in (1, 3))
    found = combine(Operator.SUBTRACT, one, three)
    assert found.dtype == u8
    assert not found.is_weak
    assert evaluate(found.expression, no_array, {}) == 254
    tenth = Value(Constant(0.1, f32))
    assert combine(Operator.ADD, tenth, tenth).dtype == f32


COMPARISONS = {
    Operator.LESS: python.lt,
    Operator.LESS_EQUAL: python.le,
    Operator.EQUAL: python.eq,
    Operator.NOT_EQUAL: python.ne,
}


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda one: one.name)
@pytest.mark.parametrize("dtype", [i8, u8, i32, i64, u64], ids=str)
def test_integers_are_compared_by_what_they_are(comparison: Operator, dtype: DType) -> None:
    """A Python integer may fit the type or not, and be known now or later."""
    ends = np.iinfo(dtype.numpy())
    for strong in (ends.min, ends.max, 0, 3):
        for weak in (-1, 0, 3, 44, 300, 2**40, -(2**63), 2**63 - 1):
            for later in (True, False):
                sides = (
                    Value(Constant(int(strong), dtype)),
                    INDEX if later else number(weak),
                )
                for left, right in (sides, sides[::-1]):
                    found = combine(comparison, left, right)
                    numbers = (strong, weak) if left is sides[0] else (weak, strong)
                    expected = COMPARISONS[comparison](*map(int, numbers))
                    assert evaluate(found.expression, no_array, {"i": weak}) is expected


def no_array(name: str, position: tuple[int, ...]) -> None:
    raise AssertionError(f"{name}{position} is read")


def test_powers_that_take_hours() -> None:
    assert combine(Operator.POWER, number(2), number(62)).literal == 2**62
    assert combine(Operator.POWER, number(-1), number(10**9)).literal == 1
    with pytest.raises(KernelError, match="this does not fit 64 bits; expected a smaller power"):
        combine(Operator.POWER, number(9), number(10**9))


def test_a_python_integer_that_may_get_too_long() -> None:
    for value, by in ((number(1), INDEX), (INDEX, number(62)), (INDEX, INDEX)):
        with pytest.raises(KernelError, match="exceed 64 bits; convert it, as in np.int64"):
            combine(Operator.SHIFT_LEFT, value, by)
    assert str(combine(Operator.SHIFT_LEFT, INDEX, number(61)).expression) == f"(i * {1 << 61})"
    assert combine(Operator.SHIFT_LEFT, element(i64), INDEX).dtype == i64


ELEMENTS = [f32, f64, i8, u8, i32, i64, u64, boolean]
OPERATORS = [
    Operator.ADD,
    Operator.SUBTRACT,
    Operator.MULTIPLY,
    Operator.DIVIDE,
    Operator.FLOOR_DIVIDE,
    Operator.MODULO,
    Operator.BIT_AND,
    Operator.SHIFT_LEFT,
]
PYTHON = {
    Operator.ADD: python.add,
    Operator.SUBTRACT: python.sub,
    Operator.MULTIPLY: python.mul,
    Operator.DIVIDE: python.truediv,
    Operator.FLOOR_DIVIDE: python.floordiv,
    Operator.MODULO: python.mod,
    Operator.BIT_AND: python.and_,
    Operator.SHIFT_LEFT: python.lshift,
}


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda one: one.name)
def test_numpy_scalars_of_all_types_meet_as_numpy_has_them(operator: Operator) -> None:
    for left in ELEMENTS:
        for right in ELEMENTS:
            numbers = [one.numpy().type(1) for one in (left, right)]
            given = [
                Value(Constant(one.item(), type))
                for one, type in zip(numbers, (left, right), strict=True)
            ]
            try:
                expected = PYTHON[operator](*numbers)
            except TypeError:
                with pytest.raises(KernelError, match="numpy does not define"):
                    combine(operator, *given)
                continue
            found = combine(operator, *given)
            assert not found.is_weak
            assert found.dtype.numpy() == expected.dtype
            assert evaluate(found.expression, no_array, {}) == expected


def test_truth_values_of_python_are_integers_and_those_of_numpy_are_not() -> None:
    weak = combine(Operator.LESS, INDEX, number(1))
    assert weak.is_weak
    twice = combine(Operator.ADD, weak, weak)
    assert (twice.dtype, evaluate(twice.expression, no_array, {"i": 0})) == (i64, 2)
    strong = element(boolean)
    assert combine(Operator.ADD, strong, strong).dtype == boolean
    assert combine(Operator.ADD, strong, number(1)).dtype == i64
    assert combine(Operator.BIT_NOT, strong).dtype == boolean


def test_shifts_by_negative_literals() -> None:
    for value in (number(1), INDEX, element(i64)):
        with pytest.raises(KernelError, match="negative shift count|a shift by -1 bits"):
            combine(Operator.SHIFT_LEFT, value, number(-1))


def test_a_literal_that_python_alone_can_hold() -> None:
    with pytest.raises(KernelError, match="this Python integer has 68 bits"):
        combine(Operator.MODULO, INDEX, number(10**20))
    assert combine(Operator.LESS, element(u8), number(10**20)).expression == Constant(True, boolean)
