import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polysched.ir.expr.dtypes import DType, boolean, f32, f64, i8, i16, i32, i64, u8, u32, u64
from polysched.ir.expr.expressions import (
    Cast,
    Constant,
    Expression,
    Index,
    Load,
    Parameter,
    operation,
)
from polysched.ir.expr.functions import absolute, exp, fma, maximum, minimum, select, sqrt
from polysched.ir.expr.operators import Operator
from polysched.ir.semantics.scalar import evaluate, fused_multiply_add, scalar_function
from tests.support.expression_strategies import expressions


def at(expression: Expression, **elements: Any) -> Any:
    """The value where every array ``name`` holds ``elements[name]`` everywhere."""
    return evaluate(expression, lambda name, position: elements[name], {"i": 7, "n": 10})


def of(dtype: DType, name: str = "x") -> Load:
    return Load(name, (Index("i"),), dtype)


def test_indices_and_parameters() -> None:
    assert at(2 * Index("i") - Parameter("n")) == 4


def test_read_is_given_array_and_subscripts() -> None:
    seen = []

    def read(name: str, position: tuple[int, ...]) -> np.float32:
        seen.append((name, position))
        return np.float32(1.5)

    value = evaluate(Load("a", (Index("i") + 1, Constant(3)), f32) * 2, read, {"i": 4})
    assert (value, seen) == (3, [("a", (5, 3))])


@pytest.mark.parametrize(
    ("dtype", "left", "right", "expected"),
    [
        (i8, 127, 1, -128),
        (i8, -128, -1, 127),
        (u8, 255, 1, 0),
        (i32, 2**31 - 1, 1, -(2**31)),
        (i64, 2**63 - 1, 1, -(2**63)),
        (u64, 2**64 - 1, 2, 1),
        (i16, 30000, 30000, -5536),
    ],
    ids=str,
)
def test_integer_sums_wrap(dtype: DType, left: int, right: int, expected: int) -> None:
    numpy_type = dtype.numpy().type
    result = at(of(dtype, "x") + of(dtype, "y"), x=numpy_type(left), y=numpy_type(right))
    assert result == expected


@pytest.mark.parametrize(
    ("operator", "left", "right", "expected"),
    [
        (Operator.FLOOR_DIVIDE, -7, 2, -4),
        (Operator.MODULO, -7, 2, 1),
        (Operator.FLOOR_DIVIDE, 7, -2, -4),
        (Operator.MODULO, 7, -2, -1),
        (Operator.FLOOR_DIVIDE, 7, 0, 0),
        (Operator.MODULO, 7, 0, 0),
        (Operator.FLOOR_DIVIDE, -(2**31), -1, -(2**31)),
    ],
)
def test_division_rounds_down(operator: Operator, left: int, right: int, expected: int) -> None:
    expression = operation(operator, of(i32, "x"), of(i32, "y"))
    assert at(expression, x=np.int32(left), y=np.int32(right)) == expected


def test_smallest_integer_has_itself_as_absolute_value_and_negation() -> None:
    smallest = np.int8(-128)
    assert at(absolute(of(i8)), x=smallest) == -128
    assert at(-of(i8), x=smallest) == -128


def test_float32_arithmetic_rounds_to_float32() -> None:
    result = at(of(f32) + 1, x=np.float32(2**-24))
    assert result == np.float32(1)
    assert result.dtype == np.float32


def test_division_by_zero_and_overflow_are_silent() -> None:
    assert at(of(f32) / 0, x=np.float32(-1)) == -math.inf
    assert math.isnan(at(of(f64) / 0, x=np.float64(0)))
    assert at(of(f32) * of(f32), x=np.float32(1e30)) == math.inf


@pytest.mark.parametrize("function", [minimum, maximum])
def test_minimum_and_maximum_keep_nan(function: Any) -> None:
    nan, one = np.float32(math.nan), np.float32(1)
    assert math.isnan(at(function(of(f32, "x"), of(f32, "y")), x=nan, y=one))
    assert math.isnan(at(function(of(f32, "x"), of(f32, "y")), x=one, y=nan))


def test_negative_zero_is_smaller() -> None:
    zero = {"x": np.float64(0.0), "y": np.float64(-0.0)}
    for pair in [(of(f64, "x"), of(f64, "y")), (of(f64, "y"), of(f64, "x"))]:
        assert np.signbit(at(minimum(*pair), **zero))
        assert not np.signbit(at(maximum(*pair), **zero))


def test_comparisons_conditions_and_selection() -> None:
    x = of(i32)
    assert at(select((x < 3) & ~(x < 0), x, -x), x=np.int32(5)) == -5
    assert at((x < 3) | (x <= 5), x=np.int32(5)) is True
    assert at(of(boolean) & (Index("i") < 8), x=np.bool_(True)) is True


def test_square_root_and_exponential_keep_the_type() -> None:
    root = at(sqrt(of(f32)), x=np.float32(2))
    power = at(exp(of(f32)), x=np.float32(1))
    assert (root, power) == (np.sqrt(np.float32(2)), np.exp(np.float32(1)))
    assert root.dtype == power.dtype == np.float32


@pytest.mark.parametrize(
    ("source", "value", "target", "expected"),
    [
        (f32, 2.9, i32, 2),
        (f32, -2.9, i32, -2),
        (f64, 300.0, u8, 0),
        (f64, 1e10, i32, -(2**31)),
        (f32, math.nan, i16, -(2**15)),
        (f32, -1.0, u32, 0),
        (f64, -math.inf, i64, -(2**63)),
        (i32, 300, u8, 44),
        (i32, -1, u64, 2**64 - 1),
        (u8, 200, i8, -56),
        (f32, 0.5, boolean, True),
        (i32, 0, boolean, False),
        (boolean, True, f32, 1.0),
    ],
    ids=str,
)
def test_casts(source: DType, value: float, target: DType, expected: float) -> None:
    result = at(Cast(of(source), target), x=source.numpy().type(value))
    assert result == expected


def test_64_bit_integers_are_rounded_to_float32_once() -> None:
    number = 2**60 + 2**36 + 1  # by way of float64 the last bit is lost and the tie goes down
    assert at(Cast(of(i64), f32), x=np.int64(number)) == np.float32(2**60 + 2**37)


def test_literals_take_the_type_around_them() -> None:
    assert at(of(u8) + 250, x=np.uint8(10)) == 4


@given(*[st.floats(width=32, allow_nan=False, allow_infinity=False) for _ in "abc"])
def test_fma_of_float32_is_rounded_once(a: float, b: float, c: float) -> None:
    with np.errstate(over="ignore"):
        result = fused_multiply_add(np.float32(a), np.float32(b), np.float32(c))
    _assert_nearest(float(result), a, b, c, np.float32)


@given(*[st.floats(allow_nan=False, allow_infinity=False) for _ in "abc"])
def test_fma_of_float64_is_rounded_once(a: float, b: float, c: float) -> None:
    result = fused_multiply_add(np.float64(a), np.float64(b), np.float64(c))
    _assert_nearest(float(result), a, b, c, np.float64)


def _assert_nearest(result: float, a: float, b: float, c: float, kind: Any) -> None:
    """``result`` is no farther from the exact value than its neighbors."""
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    largest = float(np.finfo(kind).max)
    if math.isinf(result):
        assert abs(exact) >= largest
        return
    error = abs(Fraction(result) - exact)
    for direction in (-math.inf, math.inf):
        with np.errstate(over="ignore"):
            neighbor = float(np.nextafter(kind(result), kind(direction)))
        if math.isfinite(neighbor):
            assert error <= abs(Fraction(neighbor) - exact)


def test_fma_where_two_roundings_give_another_value() -> None:
    # The product lies just above a tie of float32; adding it in float64 first loses that.
    a, b, c = np.float32(1 + 2**-12), np.float32(2**-25 * (1 + 2**-12)), np.float32(1)
    exact = Fraction(float(a)) * Fraction(float(b)) + 1
    assert fused_multiply_add(a, b, c) == np.float32(float(exact))
    tiny = fused_multiply_add(np.float32(2**-24), np.float32(1 + 2**-23), np.float32(1))
    assert tiny == np.float32(1 + 2**-23)
    below = fused_multiply_add(np.float32(2**-60), np.float32(2**-60), np.float32(1))
    assert below == 1


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_fma_of_special_values(kind: Any) -> None:
    inf, nan, one, zero = (kind(value) for value in (math.inf, math.nan, 1, 0))
    with np.errstate(all="ignore"):
        assert fused_multiply_add(inf, one, one) == inf
        assert math.isnan(fused_multiply_add(inf, zero, one))
        assert math.isnan(fused_multiply_add(inf, one, -inf))
        assert math.isnan(fused_multiply_add(nan, one, one))
        assert fused_multiply_add(np.finfo(kind).max, np.finfo(kind).max, -inf) == -inf
        assert np.signbit(fused_multiply_add(-zero, one, -zero))
        assert not np.signbit(fused_multiply_add(-one, one, one))
    assert at(fma(of(f32), of(f32), of(f32)), x=np.float32(2)) == 6


@given(expressions(i32), st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1))
def test_integer_results_stay_in_range(expression: Expression, x: int, y: int) -> None:
    value = at(expression, x=np.int32(x), y=np.int32(y))
    assert -(2**31) <= value < 2**31


def test_every_operator_has_a_meaning() -> None:
    for operator in Operator:
        kinds = [dtype for dtype in (f32, i32) if _defined(operator, dtype)]
        assert kinds, operator


def _defined(operator: Operator, dtype: DType) -> bool:
    try:
        scalar_function(operator, dtype)
    except KeyError:
        return False
    return True


def test_a_name_without_a_value() -> None:
    with pytest.raises(KeyError, match="missing"):
        at(Index("missing") + 1)
