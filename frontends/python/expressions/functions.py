"""Calls of Python's, ``math``'s and numpy's functions in a kernel.

Functions of ``math`` compute in float64 and return Python numbers. Functions of numpy return numpy
scalars, also for Python numbers; numpy's ``resolve_dtypes`` gives the type.
"""

from __future__ import annotations

import math
import operator as python
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from polysched.errors import KernelError
from polysched.frontends.python.values.affinity import is_affine_number
from polysched.frontends.python.values.floor_division import differ
from polysched.frontends.python.values.numpy_operations import OF_ANGLES, UFUNCS, applied, truth
from polysched.frontends.python.values.operations import combine
from polysched.frontends.python.values.run_time_types import combined
from polysched.frontends.python.values.value import (
    Value,
    ambiguous,
    chosen_of,
    common_type,
    converted,
    opaque,
    require_condition,
    require_one_meaning,
    united,
)
from polysched.ir.expr.dtypes import DType, as_dtype, boolean, f64, i64
from polysched.ir.expr.expressions import Expression, Load, operation
from polysched.ir.expr.functions import cast
from polysched.ir.expr.numpy_functions import NUMPY_FUNCTIONS
from polysched.ir.expr.operators import Operator

FoundT = TypeVar("FoundT")

_OF_MATH: Mapping[Callable[..., Any], Operator] = MappingProxyType(
    {
        math.acos: Operator.ARC_COSINE,
        math.acosh: Operator.INVERSE_HYPERBOLIC_COSINE,
        math.asin: Operator.ARC_SINE,
        math.asinh: Operator.INVERSE_HYPERBOLIC_SINE,
        math.atan: Operator.ARC_TANGENT,
        math.atanh: Operator.INVERSE_HYPERBOLIC_TANGENT,
        math.atan2: Operator.ARC_TANGENT_2,
        math.cbrt: Operator.CUBE_ROOT,
        math.cos: Operator.COSINE,
        math.cosh: Operator.HYPERBOLIC_COSINE,
        math.erf: Operator.ERROR_FUNCTION,
        math.erfc: Operator.COMPLEMENTARY_ERROR_FUNCTION,
        math.exp: Operator.EXPONENTIAL,
        math.expm1: Operator.EXPONENTIAL_MINUS_1,
        math.exp2: Operator.EXPONENTIAL_2,
        math.fabs: Operator.ABSOLUTE,
        math.fmod: Operator.FLOAT_REMAINDER,
        math.hypot: Operator.HYPOTENUSE,
        math.log1p: Operator.LOGARITHM_1_PLUS,
        math.log10: Operator.LOGARITHM_10,
        math.log2: Operator.LOGARITHM_2,
        math.log: Operator.LOGARITHM,
        math.pow: Operator.POWER,
        math.sin: Operator.SINE,
        math.sinh: Operator.HYPERBOLIC_SINE,
        math.sqrt: Operator.SQUARE_ROOT,
        math.tan: Operator.TANGENT,
        math.tanh: Operator.HYPERBOLIC_TANGENT,
    }
)
_ANGLES_OF_MATH: Mapping[Callable[..., Any], np.ufunc] = MappingProxyType(
    {math.degrees: np.degrees, math.radians: np.radians}
)
_ROUNDED: Mapping[Callable[..., Any], np.ufunc] = MappingProxyType(
    {math.ceil: np.ceil, math.floor: np.floor, math.trunc: np.trunc, round: np.rint}
)
"""Functions that round to a Python integer, each with numpy's, which rounds to a float."""
_BINARY = frozenset(
    {
        Operator.ARC_TANGENT_2,
        Operator.FLOAT_REMAINDER,
        Operator.HYPOTENUSE,
        Operator.MAXIMUM,
        Operator.MINIMUM,
        Operator.NUMBER_MAXIMUM,
        Operator.NUMBER_MINIMUM,
        Operator.POWER,
    }
)
_SWAPPED: Mapping[Any, np.ufunc] = MappingProxyType(
    {np.greater: np.less, np.greater_equal: np.less_equal}
)
_LOGICAL: Mapping[Any, Callable[..., Expression]] = MappingProxyType(
    {
        np.logical_and: python.and_,
        np.logical_not: python.invert,
        np.logical_or: python.or_,
        np.logical_xor: differ,
    }
)
SUPPORTED = (
    "supported are min, max, abs, round, float, int, bool, np.where, numpy's number types, and "
    "functions of one number of math and numpy such as sqrt, exp, log, sin"
)


def call(function: Any, arguments: list[Value]) -> Value:
    """The value of a function call.

    Raises:
        KernelError: kernels do not support the function, or not with these arguments.
    """
    if isinstance(function, type):
        return _conversion(function, arguments)
    if function is np.where:
        return _where(arguments)
    if function is pow:
        _require_count(arguments, 2)
        return combine(Operator.POWER, *arguments)
    if function is abs:
        _require_count(arguments, 1)
        (only,) = arguments
        if is_affine_number(only):  # max(x, -x) is affine, an absolute value is not
            return combine(Operator.MAXIMUM, only, combine(Operator.NEGATE, only))
        return combine(Operator.ABSOLUTE, only)
    rounding = _found(_ROUNDED, function)
    if rounding is not None:
        _require_count(arguments, 1)
        (only,) = arguments
        return call(int, [only if only.dtype.is_integer else call(rounding, arguments)])
    if function is min or function is max:
        return _extreme(arguments, is_largest=function is max)
    if not callable(function):
        raise KernelError(f"{function!r} cannot be called; {SUPPORTED}")
    in_math = _found(_OF_MATH, function)
    if in_math is not None:
        _require_count(arguments, 2 if in_math in _BINARY else 1)
        for argument in arguments:
            require_one_meaning(argument, f64)
        operands = (converted(argument, f64) for argument in arguments)
        return Value(operation(in_math, *operands), is_weak=True)
    angle = _found(_ANGLES_OF_MATH, function)
    if angle is not None:
        _require_count(arguments, 1)
        require_one_meaning(arguments[0], f64)
        value = applied(angle, Value(converted(arguments[0], f64)))
        return replace(value, is_weak=True)
    return _of_numpy(function, arguments)


def is_half(operand: Any) -> bool:
    """Whether an operand is the literal 0.5."""
    return isinstance(operand, Value) and operand.literal == 0.5


def root(value: Value, half: Value) -> Value:
    """``value ** half`` of an array's element: numpy takes ``sqrt``, so -inf gives NaN, -0 -0."""
    dtype, _ = common_type(value, half)
    return call(np.sqrt, [Value(converted(value, dtype))])


def _of_numpy(function: Any, arguments: list[Value]) -> Value:
    """The value of a numpy function of numbers."""
    swapped, logical = _found(_SWAPPED, function), _found(_LOGICAL, function)
    if swapped is not None:
        _require_count(arguments, 2)
        return applied(swapped, *reversed(arguments))
    if logical is not None:
        _require_count(arguments, function.nin)
        return Value(logical(*map(truth, arguments)))
    known = (np.isnan, np.square, *UFUNCS.values(), *OF_ANGLES)
    if function not in known and _found(NUMPY_FUNCTIONS, function) is None:
        raise KernelError(f"{_name(function)} cannot be called in a kernel; {SUPPORTED}")
    _require_count(arguments, function.nin)
    return combined(partial(applied, function), *arguments)


def _where(arguments: list[Value]) -> Value:
    """``np.where``, whose result is a zero-dimensional array and so never weak."""
    if len(arguments) != 3:
        raise KernelError(
            "expected np.where(condition, x, y): how many positions others give is data"
        )
    condition, *sides = arguments
    require_condition(condition)
    for side in sides:
        for other in side.alternatives:
            raise ambiguous(side, other)
    dtype, _ = common_type(*sides)
    # numpy first makes arrays of Python numbers, so it rounds an integer only once.
    arrays = (cast(cast(side.expression, side.dtype), dtype) for side in sides)
    return Value(operation(Operator.SELECT, condition.expression, *arrays))


def _found(table: Mapping[Any, FoundT], function: Any) -> FoundT | None:
    try:
        return table.get(function)
    except TypeError:  # not hashable, so not in the table
        return None


def _conversion(target: type, arguments: list[Value]) -> Value:
    _require_count(arguments, 1)
    (only,) = arguments
    if target is int and only.dtype.is_integer:
        if only.is_weak:
            return only
        is_element = isinstance(only.expression, Load) or only.dtype != i64
        return Value(cast(only.expression, i64) if is_element else opaque(only.expression), True)
    python_types: Mapping[type, DType] = {float: f64, int: i64, bool: boolean}
    if target in python_types:
        require_one_meaning(only, python_types[target])
        return Value(converted(only, python_types[target]), is_weak=True)
    if not issubclass(target, np.number | np.bool_):
        raise KernelError(f"{_name(target)} cannot be called in a kernel; {SUPPORTED}")
    dtype = as_dtype(target)
    require_one_meaning(only, dtype)
    return Value(converted(only, dtype))


def _extreme(arguments: list[Value], *, is_largest: bool) -> Value:
    """Python's ``min`` and ``max``: a later argument wins only if it compares less or greater.

    So a NaN never replaces an earlier float.
    """
    if len(arguments) < 2:
        raise KernelError(
            f"this call has {len(arguments)} arguments; expected at least two numbers"
        )
    united(*arguments)
    result = arguments[0]
    for other in arguments[1:]:
        sides, dtype, _ = united(result, other)
        if dtype.is_integer:
            operator = Operator.MAXIMUM if is_largest else Operator.MINIMUM
            extreme = operation(operator, *sides)
        else:
            order = (result, other) if is_largest else (other, result)
            holds = combine(Operator.LESS, *order).expression
            extreme = operation(Operator.SELECT, holds, *reversed(sides))
        result = chosen_of(extreme, result, other)
    return result


def _require_count(arguments: list[Value], count: int) -> None:
    if len(arguments) != count:
        plural = "s" if count > 1 else ""
        raise KernelError(f"expected {count} argument{plural} here; got {len(arguments)}")


def _name(function: Any) -> str:
    return repr(getattr(function, "__name__", str(function)))
