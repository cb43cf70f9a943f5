"""How values combine: as numpy's scalars and Python's numbers do."""

import operator as python

import numpy as np
import pytest

from polysched.errors import KernelError
from polysched.frontends.python.values import (
    Value,
    chosen,
    combine,
    common_type,
    converted,
    number,
    stored,
)
from polysched.ir.dtypes import DType, boolean, f32, f64, i8, i32, i64, u8, u64
from polysched.ir.expressions import Constant, Index, Load
from polysched.ir.operators import Operator
from polysched.ir.scalar import evaluate

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


def test_types_that_do_not_go_together() -> None:
    for values, message in (
        ((element(f32), element(f64)), "this mixes f32 and f64"),
        ((element(i32), number(0.5)), "this mixes i32 and a Python number"),
        ((element(boolean), number(1)), "this mixes bool and a Python number"),
    ):
        with pytest.raises(KernelError, match=message):
            common_type(*values)


def test_what_python_cannot_compute() -> None:
    for operator, values, message in (
        (Operator.DIVIDE, (number(1), number(0)), "division by zero"),
        (Operator.POWER, (number(-2), number(0.5)), "complex number"),
        (Operator.POWER, (number(10.0), number(400)), "out of range"),
    ):
        with pytest.raises(KernelError, match=message):
            combine(operator, *values)


def test_what_is_stored() -> None:
    assert stored(number(2), f32) == Constant(2.0, f32)
    assert stored(INDEX, f64).dtype == f64
    assert stored(Value(Constant(0.5), is_weak=True), f32).dtype == f32
    assert stored(combine(Operator.LESS, INDEX, number(1)), boolean).dtype == boolean
    for value, dtype in (
        (element(f64), f32),
        (element(f32), f64),
        (number(0.5), i32),
        (number(1), boolean),
        (element(boolean), i64),
    ):
        with pytest.raises(KernelError, match="is stored as"):
            stored(value, dtype)


def test_a_choice() -> None:
    condition = combine(Operator.LESS, INDEX, number(1))
    assert chosen(condition, element(f32), number(1)).dtype == f32
    assert chosen(condition, INDEX, number(1)).is_weak
    with pytest.raises(KernelError, match="this is f32; expected a condition"):
        chosen(element(f32), INDEX, INDEX)


def test_a_number_is_rounded_once() -> None:
    found = converted(number(0.1), f64).expression
    assert isinstance(found, Constant)
    assert found.value == 0.1
    assert converted(number(2**53 + 1), f64).expression == Constant(float(2**53 + 1), f64)


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
        with pytest.raises(KernelError, match="longer than 64 bits; convert it, as in np.int64"):
            combine(Operator.SHIFT_LEFT, value, by)
    assert str(combine(Operator.SHIFT_LEFT, INDEX, number(61)).expression) == f"(i * {1 << 61})"
    assert combine(Operator.SHIFT_LEFT, element(i64), INDEX).dtype == i64
