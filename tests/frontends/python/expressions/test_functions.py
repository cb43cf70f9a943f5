"""The functions that may be called: the value and the type that Python or numpy gives."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polysched.errors import KernelError
from polysched.frontends.python.expressions import functions
from polysched.frontends.python.values.numpy_operations import OF_ANGLES
from polysched.frontends.python.values.value import Value, number
from polysched.ir.expr.dtypes import as_dtype, boolean
from polysched.ir.expr.expressions import Constant, Index, Load
from polysched.ir.expr.numpy_functions import NUMPY_FUNCTIONS
from polysched.ir.expr.operators import Operator
from polysched.ir.semantics.scalar import compile_expression

OPERATORS = {**functions._OF_MATH, **NUMPY_FUNCTIONS}
UNARY = [one for one, operator in OPERATORS.items() if operator not in functions._BINARY]
BINARY = [one for one, operator in OPERATORS.items() if operator in functions._BINARY]


def result(function: Callable[..., Any], *values: np.generic) -> tuple[Any, Value]:
    """The value of a call on literals of numpy's types, and the call."""
    found = functions.call(
        function,
        [Value(Constant(one.item(), as_dtype(one.dtype))) for one in values],
    )
    return compile_expression(found.expression, lambda *_: None)({}), found  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("function", UNARY, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_of_one_number(function: Callable[..., Any], dtype: type[np.generic]) -> None:
    is_from_1 = function in (math.acosh, np.arccosh)
    argument = dtype(1.6 if is_from_1 else 0.6)  # type: ignore[call-arg]
    expected = function(argument)
    value, call = result(function, argument)
    assert call.dtype.numpy() == np.asarray(expected).dtype
    assert call.is_weak == isinstance(expected, float) * (type(expected) is float)
    np.testing.assert_allclose(value, expected, rtol=1e-6)


@pytest.mark.parametrize("function", [*OF_ANGLES, math.degrees, math.radians], ids=repr)
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32, np.float64])
def test_angles(function: Callable[..., Any], dtype: type[np.generic]) -> None:
    for number_of_degrees in (0, 7, 90, 101):
        argument = dtype(number_of_degrees)  # type: ignore[call-arg]
        expected = function(argument)
        value, call = result(function, argument)
        assert call.dtype.numpy() == np.asarray(expected).dtype
        assert call.is_weak == (type(expected) is float)
        assert value == expected


@pytest.mark.parametrize("function", BINARY, ids=repr)
def test_functions_of_two_numbers(function: Callable[..., Any]) -> None:
    for arguments in ((2.5, 0.5), (-1.0, 2.0), (0.25, 3.0)):
        given = [np.float64(one) for one in arguments]
        value, _ = result(function, *given)
        np.testing.assert_allclose(value, function(*given), rtol=1e-12)


def test_python_s_own_extremes_differ_from_numpy_s_on_nan() -> None:
    nan, one = np.float64("nan"), np.float64(1)
    for function in (min, max):
        for pair in ((nan, one), (one, nan)):
            value, _ = result(function, *pair)
            np.testing.assert_equal(value, function(*pair))
    assert np.isnan(result(np.maximum, one, nan)[0])


def test_conversions() -> None:
    for target, expected in ((np.float32, "f4"), (np.int64, "i8"), (np.uint8, "u1")):
        value, call = result(target, np.float64(3.7))
        assert call.dtype.numpy() == np.dtype(expected)
        assert value == target(3.7)
        assert not call.is_weak
    for target in (float, int):
        value, call = result(target, np.float32(-3.5))
        assert value == target(-3.5)
        assert call.is_weak


def test_integers_stay_integers_where_numpy_keeps_them() -> None:
    integer = Value(Load("x", (), as_dtype("i32")))
    assert functions.call(np.maximum, [integer, number(3)]).dtype == as_dtype("i32")
    assert functions.call(abs, [integer]).dtype == as_dtype("i32")
    assert functions.call(np.sqrt, [integer]).dtype == as_dtype("f64")
    assert functions.call(max, [integer, number(3)]).expression.operator is Operator.MAXIMUM  # type: ignore[attr-defined]


@pytest.mark.parametrize("dtype", "i1 u1 i2 u2 i4 u4 i8 u8".split())
@pytest.mark.parametrize("function", NUMPY_FUNCTIONS, ids=repr)
def test_functions_of_integers_are_of_numpy_s_type(function: np.ufunc, dtype: str) -> None:
    """Or refused, if the kernel has no such operation."""
    given = [np.dtype(dtype).type(one) for one in (1, 3)[: function.nin]]
    with np.errstate(divide="ignore"):  # the inverse hyperbolic tangent of 1
        expected = function(*given)
    value, call = result(function, *given)
    assert call.dtype.numpy() == expected.dtype
    assert not call.is_weak
    np.testing.assert_allclose(
        value, expected, rtol=2 * np.finfo(expected.dtype).eps if expected.dtype.kind == "f" else 0
    )


def test_the_absolute_value_of_an_index_stays_affine() -> None:
    index = Value(Index("i") - 4, is_weak=True)
    found = functions.call(abs, [index])
    assert str(found.expression) == "max((i - 4), (-(i - 4)))"
    assert found.is_weak


@pytest.mark.parametrize(
    ("function", "count", "message"),
    [
        (print, 1, "'print' cannot be called in a kernel; supported are min, max"),
        (str, 1, "'str' cannot be called"),
        (5, 1, "5 cannot be called"),
        ([], 1, r"\[\] cannot be called"),
        (np.sqrt, 2, "expected 1 argument here; got 2"),
        (np.where, 2, r"expected np.where\(condition, x, y\)"),
        (max, 1, "this call has 1 arguments; expected at least two"),
        (float, 2, "expected 1 argument here; got 2"),
    ],
)
def test_what_cannot_be_called(function: Any, count: int, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        functions.call(function, [number(1.0)] * count)


def test_a_condition_is_a_number_to_functions() -> None:
    condition = Value(Load("x", (), boolean))
    assert functions.call(math.sqrt, [condition]).is_weak
    assert functions.call(np.square, [condition]).dtype == as_dtype("i8")
    assert functions.call(float, [condition]).dtype == as_dtype("f64")
    assert functions.call(np.sqrt, [condition]).dtype == as_dtype("f16")


def test_functions_of_numpy_give_numpy_scalars_of_python_numbers() -> None:
    index, one = Value(Index("i"), is_weak=True), number(1)
    condition = Value(Load("c", (), boolean))
    for function, arguments, dtype in (
        (np.square, [index], "i64"),
        (np.maximum, [index, one], "i64"),
        (np.sqrt, [index], "f64"),
        (np.where, [condition, one, number(0.5)], "f64"),
        (np.where, [condition, index, one], "i64"),
    ):
        found = functions.call(function, arguments)
        assert (found.dtype, found.is_weak) == (as_dtype(dtype), False)


def test_what_leaves_numpy_is_a_python_number() -> None:
    byte = Value(Load("x", (), as_dtype("i8")))
    for function, dtype in ((float, "f64"), (int, "i64"), (bool, "bool"), (math.fabs, "f64")):
        found = functions.call(function, [byte])
        assert (found.dtype, found.is_weak) == (as_dtype(dtype), True)


def test_a_choice_of_python_s_may_be_of_several_types() -> None:
    found = functions.call(max, [Value(Load("x", (), as_dtype("f32"))), number(0)])
    assert found.dtype == as_dtype("f32")
    assert found.alternatives == (number(0),)
    with pytest.raises(KernelError, match="a branch decides whether this is f32 or Python int"):
        functions.call(np.where, [Value(Load("c", (), boolean)), found, found])
