"""Operations on numpy scalars, with the types that numpy's promotion rules (NEP 50) give.

If a Python integer does not fit the type of the other operand, numpy raises an error. The kernel
does so only for literals; other integers wrap around (see `decorator.py`).
"""

from __future__ import annotations

import math
import operator as python
from collections.abc import Callable, Mapping
from functools import partial, reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from polysched.errors import KernelError
from polysched.frontends.python.values.floor_division import differ, floor_quotient, floor_remainder
from polysched.frontends.python.values.value import Value, converted, fits, odd_type, python_type
from polysched.ir.expr.dtypes import DType, as_dtype, boolean, f64, i64, u64
from polysched.ir.expr.expressions import Constant, Expression, in_arithmetic, operation
from polysched.ir.expr.functions import cast, not_equal, to_store
from polysched.ir.expr.numpy_functions import NUMPY_FUNCTIONS, NUMPY_INTEGERS, NUMPY_OPERATORS
from polysched.ir.expr.operators import COMPARISONS, SHIFTS, Operator

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
"""The numpy function that computes each Python operator on numpy scalars."""

OF_ANGLES: Mapping[Callable[..., Any], tuple[float, float]] = MappingProxyType(
    {
        np.deg2rad: (math.pi, 180.0),
        np.degrees: (180.0, math.pi),
        np.rad2deg: (180.0, math.pi),
        np.radians: (math.pi, 180.0),
    }
)
"""Functions that multiply by a quotient, which numpy computes in the type of the operand."""

LARGEST_EXPONENT = 16
"""Powers of integers up to this exponent are computed as products."""

_ROUNDING = frozenset({np.ceil, np.floor, np.trunc})
"""Functions that return integers and truth values unchanged."""

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
    """Apply a numpy function; the result is a numpy scalar of the type that numpy chooses.

    Args:
        function: a function in `UFUNCS`, `NUMPY_FUNCTIONS` or `OF_ANGLES`.
        values: the operands.
        is_operator: whether it implements an operator; operators keep integers of odd widths.
    """
    operator = next((key for key, ufunc in UFUNCS.items() if ufunc is function), None)
    if operator in COMPARISONS and all(value.dtype.is_integer for value in values):
        return Value(_compared(operator, *values))
    if function is np.power and values[0].dtype == boolean:
        raise KernelError("a power of a condition is not supported; convert it, as in np.int64(x)")
    inputs, output = _resolved(function, values, is_operator=is_operator)
    if operator in SHIFTS:
        _require_shift(values[1])
    if function is np.square or (function is np.power and values[1].literal == 2):
        base = converted(values[0], output)
        return Value(to_store(operation(Operator.MULTIPLY, base, base), output))
    if function is np.power and output.is_integer:
        base = converted(values[0], output)
        factors = [base] * power_of_integers(values[1])
        one = converted(Value(Constant(1), is_weak=True), output)
        return Value(reduce(partial(operation, Operator.MULTIPLY), factors, one))
    operands = [converted(value, dtype) for value, dtype in zip(values, inputs, strict=True)]
    if function is np.isnan:
        return Value(not_equal(operands[0], operands[0]))
    result = _computed(function, inputs[0], operands)
    # numpy rounds every operation on a half type.
    return Value(to_store(result, output))


def _computed(function: np.ufunc, dtype: DType, operands: list[Expression]) -> Expression:
    """A numpy function of operands that already have numpy's computation type ``dtype``."""
    if function in _ROUNDING and not dtype.is_float:
        return operands[0]
    if dtype == boolean:
        return _OF_BOOLEANS[function](*operands)
    if dtype.is_float:
        operands = [in_arithmetic(operand) for operand in operands]
        if function is np.floor_divide:
            return floor_quotient(*operands)
        if function is np.remainder:
            return floor_remainder(*operands)
        if function in OF_ANGLES:
            quotient = np.divide(*OF_ANGLES[function], dtype=dtype.arithmetic.numpy())
            factor = Constant(float(quotient), dtype.arithmetic)
            return operation(Operator.MULTIPLY, *operands, factor)
        return operation({**NUMPY_OPERATORS, **NUMPY_FUNCTIONS}[function], *operands)
    integer = {**NUMPY_OPERATORS, **NUMPY_INTEGERS}
    if function not in integer:
        raise KernelError(
            f"'{function.__name__}' of integers is not supported; expected floating-point numbers"
        )
    return operation(integer[function], *operands)


def _resolved(
    function: np.ufunc, values: tuple[Value, ...], *, is_operator: bool
) -> tuple[list[DType], DType]:
    """The types to which numpy converts the operands of a function, and the type of the result."""
    if is_operator and any(value.dtype.is_odd_width for value in values):
        return _of_odd_width(function, values)
    types: list[Any] = [_numpy_type(value) for value in values]
    names = " and ".join(value.type_name for value in values)
    try:
        *inputs, output = function.resolve_dtypes((*types, None))
    except TypeError:
        raise KernelError(
            f"numpy does not define '{function.__name__}' for {names}; convert the operands first, "
            "as in np.int64(x) or np.float64(x)"
        ) from None
    return [as_dtype(dtype) for dtype in inputs], as_dtype(output)


def _numpy_type(value: Value) -> Any:
    """The type of a value as `resolve_dtypes` takes it: Python types for weak values."""
    if value.is_weak and value.dtype != boolean:
        return python_type(value)
    return value.dtype.numpy()


def _of_odd_width(function: np.ufunc, values: tuple[Value, ...]) -> tuple[list[DType], DType]:
    """Integers of a width that numpy lacks keep their type, combined with it or Python integers."""
    own = odd_type(*values)
    dtype = f64 if function is np.divide else own
    return [dtype] * len(values), dtype


def power_of_integers(exponent: Value) -> int:
    """The number of factors of a power of integers.

    Raises:
        KernelError: the exponent is not a small literal.
    """
    literal = exponent.literal
    if not isinstance(literal, int) or not 0 <= literal <= LARGEST_EXPONENT:
        raise KernelError(
            "'**' of integers is not supported with this exponent; expected a literal from 0 to "
            f"{LARGEST_EXPONENT}, or floating-point numbers"
        )
    return literal


def _require_shift(by: Value) -> None:
    if isinstance(by.literal, int) and by.literal < 0 and by.is_weak:
        raise KernelError(f"a shift by {by.literal} bits; expected 0 or more")


def _compared(operator: Operator | None, left: Value, right: Value) -> Expression:
    """Compare integers by value whatever their types, as numpy does."""
    assert operator is not None
    for side, other in ((left, right), (right, left)):
        if side.is_weak and side.literal is not None:
            if fits(side.literal, other.dtype):
                sides = (cast(side.expression, other.dtype), other.expression)
                return operation(operator, *(sides if side is left else sides[::-1]))
            return _never_equal(operator, is_less=(side.literal < 0) == (side is left))
    signed = [side for side in (left, right) if side.dtype.is_signed]
    if len(signed) != 1 or u64 not in (left.dtype, right.dtype):
        wide = u64 if not signed else i64
        return operation(operator, *(cast(side.expression, wide) for side in (left, right)))
    (only,) = signed
    negative = operation(Operator.LESS, cast(only.expression, i64), 0)
    holds = operation(operator, *(cast(side.expression, u64) for side in (left, right)))
    # A negative number is less than every u64, so it also differs from every u64.
    if operator is Operator.NOT_EQUAL or (operator is not Operator.EQUAL and only is left):
        return negative | holds
    return ~negative & holds


def _never_equal(operator: Operator, *, is_less: bool) -> Expression:
    """A comparison with a literal outside of the range of the other operand's type."""
    if operator in (Operator.EQUAL, Operator.NOT_EQUAL):
        return Constant(operator is Operator.NOT_EQUAL, boolean)
    return Constant(is_less, boolean)


def truth(value: Value) -> Expression:
    """Whether a number is not 0."""
    if value.dtype == boolean:
        return value.expression
    return not_equal(converted(value, value.dtype), 0)
