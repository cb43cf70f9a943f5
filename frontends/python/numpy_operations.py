"""Operations that numpy computes: numpy is asked for the types, per NEP 50.

What numpy raises where a Python integer does not fit the type that it meets, the kernel does not
raise unless the integer is a literal: it wraps around (see `decorator.py`).
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from polysched.errors import KernelError
from polysched.frontends.python.floor_division import differ, floor_quotient, floor_remainder
from polysched.frontends.python.values import Value, converted, fits, python_type
from polysched.ir.dtypes import DType, as_dtype, boolean, f64, i64, u64
from polysched.ir.expressions import Constant, Expression, operation
from polysched.ir.functions import cast, not_equal
from polysched.ir.numpy_functions import OF_NUMPY, OF_NUMPYS_INTEGERS, OF_NUMPYS_OPERATORS
from polysched.ir.operators import COMPARISONS, SHIFTS, Operator

UFUNCS: Mapping[Operator, np.ufunc] = MappingProxyType(
    {
        Operator.ADD: np.add,
        Operator.SUBTRACT: np.subtract,
        Operator.MULTIPLY: np.multiply,
        Operator.DIVIDE: np.divide,
        Operator.FLOOR_DIVIDE: np.floor_divide,
        Operator.MODULO: np.remainder,
        Operator.NEGATE: np.negative,
        Operator.ABSOLUTE: np.absolute,
        Operator.POWER: np.power,
        Operator.MINIMUM: np.minimum,
        Operator.MAXIMUM: np.maximum,
        Operator.BIT_AND: np.bitwise_and,
        Operator.BIT_OR: np.bitwise_or,
        Operator.BIT_XOR: np.bitwise_xor,
        Operator.BIT_NOT: np.invert,
        Operator.SHIFT_LEFT: np.left_shift,
        Operator.SHIFT_RIGHT: np.right_shift,
        Operator.LESS: np.less,
        Operator.LESS_EQUAL: np.less_equal,
        Operator.EQUAL: np.equal,
        Operator.NOT_EQUAL: np.not_equal,
    }
)
"""The functions of numpy that Python's operators call for numpy scalars."""

_ROUNDING = frozenset({np.ceil, np.floor, np.trunc})
"""Functions that leave integers and truth values as they are."""

_OF_BOOLEANS: Mapping[np.ufunc, Callable[..., Expression]] = MappingProxyType(
    {
        np.absolute: lambda value: value,
        np.add: python.or_,
        np.multiply: python.and_,
        np.maximum: python.or_,
        np.fmax: python.or_,
        np.minimum: python.and_,
        np.fmin: python.and_,
        np.bitwise_and: python.and_,
        np.bitwise_or: python.or_,
        np.bitwise_xor: differ,
        np.invert: python.invert,
        np.not_equal: differ,
        np.equal: lambda left, right: ~differ(left, right),
        np.less: lambda left, right: ~left & right,
        np.less_equal: lambda left, right: ~left | right,
    }
)


def applied(function: np.ufunc, *values: Value, is_operator: bool = False) -> Value:
    """What a function of numpy gives: a numpy scalar of the type that numpy chooses.

    Args:
        function: one of `UFUNCS`, or of `OF_NUMPY`.
        is_operator: whether it stands for an operator: these keep integers of odd widths.

    Raises:
        KernelError: numpy has no such function of these types, or kernels have not.
    """
    operator = next((one for one, found in UFUNCS.items() if found is function), None)
    if operator in COMPARISONS and all(one.dtype.is_integer for one in values):
        return Value(_compared(operator, *values))
    inputs, output = _resolved(function, values, is_operator=is_operator)
    if operator in SHIFTS:
        _require_shift(values[1])
    if function is np.square or (function is np.power and values[1].literal == 2):
        base = converted(values[0], output)
        return Value(operation(Operator.MULTIPLY, base, base))
    operands = [converted(one, dtype) for one, dtype in zip(values, inputs, strict=True)]
    if function is np.isnan:
        return Value(not_equal(operands[0], operands[0]))
    return Value(_computed(function, inputs[0], operands))


def _computed(function: np.ufunc, dtype: DType, operands: list[Expression]) -> Expression:
    """A function of operands that have the one type in which numpy computes it."""
    if function in _ROUNDING and not dtype.is_float:
        return operands[0]
    if dtype == boolean:
        return _OF_BOOLEANS[function](*operands)
    if dtype.is_float:
        if function is np.floor_divide:
            return floor_quotient(*operands)
        if function is np.remainder:
            return floor_remainder(*operands)
        return operation({**OF_NUMPYS_OPERATORS, **OF_NUMPY}[function], *operands)
    integer = {**OF_NUMPYS_OPERATORS, **OF_NUMPYS_INTEGERS}
    if function not in integer:
        if function is np.power:
            raise KernelError("'**' of integers; expected floating-point numbers, or a product")
        raise KernelError(f"'{function.__name__}' of integers; expected floating-point numbers")
    return operation(integer[function], *operands)


def _resolved(
    function: np.ufunc, values: tuple[Value, ...], *, is_operator: bool
) -> tuple[list[DType], DType]:
    """The types in which numpy takes the operands of a function, and that of the result."""
    if is_operator and any(one.dtype.is_odd for one in values):
        return _of_odd_width(function, values)
    asked: list[Any] = [_asked(one) for one in values]
    names = " and ".join(one.type_name for one in values)
    try:
        *inputs, output = function.resolve_dtypes((*asked, None))
    except TypeError:
        raise KernelError(
            f"numpy has no '{function.__name__}' of {names}; convert the operands first, as in "
            "np.int64(x) or np.float64(x)"
        ) from None
    if np.float16 in (output, *inputs):
        raise KernelError(
            f"numpy computes '{function.__name__}' of {names} in float16, which is not supported; "
            "convert what it is given, as in np.float32(x)"
        )
    return [as_dtype(one) for one in inputs], as_dtype(output)


def _asked(value: Value) -> Any:
    """The type of a value as `resolve_dtypes` takes it; those of Python's numbers are weak."""
    if value.is_weak and value.dtype != boolean:
        return python_type(value)
    return value.dtype.numpy()


def _of_odd_width(function: np.ufunc, values: tuple[Value, ...]) -> tuple[list[DType], DType]:
    """Integers of a width that numpy does not know keep it, beside their own and Python's."""
    strong = {one.dtype for one in values if not one.is_weak}
    if len(strong) > 1 or any(one.is_weak and one.dtype != i64 for one in values):
        names = " and ".join(sorted(one.type_name for one in values))
        raise KernelError(f"this mixes {names}; convert one side, as in np.int32(x)")
    dtype = f64 if function is np.divide else strong.pop()
    return [dtype] * len(values), dtype


def _require_shift(by: Value) -> None:
    if isinstance(by.literal, int) and by.literal < 0 and by.is_weak:
        raise KernelError(f"a shift by {by.literal} bits; expected 0 or more")


def _compared(operator: Operator | None, left: Value, right: Value) -> Expression:
    """Integers by what they are, whatever their types, as numpy compares them."""
    assert operator is not None
    for one, other in ((left, right), (right, left)):
        if one.is_weak and one.literal is not None:
            if fits(one.literal, other.dtype):
                sides = (cast(one.expression, other.dtype), other.expression)
                return operation(operator, *(sides if one is left else sides[::-1]))
            return _never_equal(operator, is_less=(one.literal < 0) == (one is left))
    signed = [one for one in (left, right) if one.dtype.is_signed]
    if len(signed) != 1 or u64 not in (left.dtype, right.dtype):
        wide = u64 if not signed else i64
        return operation(operator, *(cast(one.expression, wide) for one in (left, right)))
    (only,) = signed
    negative = operation(Operator.LESS, cast(only.expression, i64), 0)
    holds = operation(operator, *(cast(one.expression, u64) for one in (left, right)))
    # A negative number is less than all of u64, so it is unequal to all of them too.
    if operator is Operator.NOT_EQUAL or (operator is not Operator.EQUAL and only is left):
        return negative | holds
    return ~negative & holds


def _never_equal(operator: Operator, *, is_less: bool) -> Expression:
    """A comparison with a literal that lies outside of the other operand's type."""
    if operator in (Operator.EQUAL, Operator.NOT_EQUAL):
        return Constant(operator is Operator.NOT_EQUAL, boolean)
    return Constant(is_less, boolean)


def truth(value: Value) -> Expression:
    """Whether a number is not 0."""
    if value.dtype == boolean:
        return value.expression
    return not_equal(converted(value, value.dtype), 0)
