"""The functions that may be called in a kernel, and what they mean for values.

Python's and ``math``'s compute in float64 and give weak numbers; numpy's keep the type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from polysched.errors import KernelError
from polysched.frontends.python.affinity import is_affine_number
from polysched.frontends.python.values import (
    Value,
    chosen,
    combine,
    common_type,
    converted,
    number,
    power,
    require_kept,
)
from polysched.ir.dtypes import DType, as_dtype, boolean, f64, i64
from polysched.ir.expressions import operation
from polysched.ir.functions import cast
from polysched.ir.numpy_functions import OF_NUMPY, OF_NUMPYS_INTEGERS
from polysched.ir.operators import Operator

_OF_MATH: Mapping[Callable[..., Any], Operator] = MappingProxyType(
    {
        math.acos: Operator.ARC_COSINE,
        math.asin: Operator.ARC_SINE,
        math.atan: Operator.ARC_TANGENT,
        math.atan2: Operator.ARC_TANGENT_2,
        math.cbrt: Operator.CUBE_ROOT,
        math.cos: Operator.COSINE,
        math.cosh: Operator.HYPERBOLIC_COSINE,
        math.exp: Operator.EXPONENTIAL,
        math.exp2: Operator.EXPONENTIAL_2,
        math.fabs: Operator.ABSOLUTE,
        math.fmod: Operator.FLOAT_REMAINDER,
        math.hypot: Operator.HYPOTENUSE,
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
_WHOLE = frozenset({np.ceil, np.floor, np.trunc})
"""Functions that leave integers as they are."""
SUPPORTED = (
    "supported are min, max, abs, float, int, np.where, numpy's number types, and functions of one "
    "number of math and numpy such as sqrt, exp, log, sin"
)


def call(function: Any, arguments: list[Value]) -> Value:
    """What a call of a function means.

    Raises:
        KernelError: it is none that may be called, or not with these arguments.
    """
    if isinstance(function, type):
        return _conversion(function, arguments)
    if function is np.where:
        _require_count(arguments, 3)
        return chosen(*arguments)
    if function is pow or function is np.square:
        _require_count(arguments, 2 if function is pow else 1)
        return power(arguments[0], arguments[1] if function is pow else number(2))
    if function is np.isnan:
        _require_count(arguments, 1)
        return combine(Operator.NOT_EQUAL, arguments[0], arguments[0])
    if function is abs:
        _require_count(arguments, 1)
        (only,) = arguments
        if is_affine_number(only):  # so that it stays affine
            return combine(Operator.MAXIMUM, only, combine(Operator.NEGATE, only))
        return combine(Operator.ABSOLUTE, only)
    if function is min or function is max:
        return _extreme(arguments, is_largest=function is max)
    if not callable(function):
        raise KernelError(f"{function!r} cannot be called; {SUPPORTED}")
    in_math, in_numpy = _found(_OF_MATH, function), _found(OF_NUMPY, function)
    operator = in_math or in_numpy
    if operator is None:
        raise KernelError(f"{_name(function)} cannot be called in a kernel; {SUPPORTED}")
    _require_count(arguments, 2 if operator in _BINARY else 1)
    if in_math:
        operands = (cast(converted(one, f64).expression, f64) for one in arguments)
        return Value(operation(operator, *operands), is_weak=True)
    return _of_numpy(function, operator, arguments)


def _of_numpy(function: np.ufunc, operator: Operator, arguments: list[Value]) -> Value:
    """A function of numpy, in the type in which numpy computes it."""
    given, _ = common_type(*arguments)
    *kinds, _ = function.resolve_dtypes((*[given.numpy()] * function.nin, None))
    if kinds[0] == np.float16:
        raise KernelError(
            f"numpy computes {_name(function)} of {given} in float16, which is not supported; "
            "convert what it is given, as in np.float32(x)"
        )
    dtype = as_dtype(kinds[0])
    operands = [cast(converted(one, dtype).expression, dtype) for one in arguments]
    if dtype.is_float:
        return Value(operation(operator, *operands))
    if function in _WHOLE:
        return Value(operands[0])
    if function not in OF_NUMPYS_INTEGERS:
        raise KernelError(f"{_name(function)} of integers; expected floating-point numbers")
    return Value(operation(OF_NUMPYS_INTEGERS[function], *operands))


def _found(table: Mapping[Callable[..., Any], Operator], function: Any) -> Operator | None:
    try:
        return table.get(function)
    except TypeError:  # not hashable, so none of these
        return None


def _conversion(target: type, arguments: list[Value]) -> Value:
    _require_count(arguments, 1)
    own: Mapping[type, DType] = {float: f64, int: i64}
    if target in own:
        return Value(cast(arguments[0].expression, own[target]), is_weak=True)
    if not issubclass(target, np.number):
        raise KernelError(f"{_name(target)} cannot be called in a kernel; {SUPPORTED}")
    return Value(cast(arguments[0].expression, as_dtype(target)))


def _extreme(arguments: list[Value], *, is_largest: bool) -> Value:
    """Python's own: of floats the first one unless another is beyond it, which no NaN is."""
    if len(arguments) < 2:
        raise KernelError(f"this has {len(arguments)} arguments; expected at least two numbers")
    require_kept(*arguments)
    dtype, _ = common_type(*arguments)
    result = arguments[0]
    for other in arguments[1:]:
        if dtype.is_integer:
            result = combine(Operator.MAXIMUM if is_largest else Operator.MINIMUM, result, other)
        else:
            order = (result, other) if is_largest else (other, result)
            result = chosen(combine(Operator.LESS, *order), other, result)
    return result


def _require_count(arguments: list[Value], count: int) -> None:
    if len(arguments) != count:
        raise KernelError(f"this has {len(arguments)} arguments; expected {count}")
    if any(one.dtype == boolean for one in arguments[-1:]):
        raise KernelError("this is a condition; expected a number")


def _name(function: Any) -> str:
    return repr(getattr(function, "__name__", str(function)))
