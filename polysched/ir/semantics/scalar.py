"""Reference semantics of expressions: exact evaluation on scalars.

Integers and conditions are Python numbers that wrap to the range of their type. Floats are numpy
scalars of their type. Operations that C leaves undefined are defined here:

- Integer division by zero gives 0, as in Halide; so does the remainder.
- Converting a float that does not fit the integer type gives the type's lowest value.
- A shift by a negative amount, or by at least the bits of the type, shifts all bits out, as in
  numpy: the result is 0, or for a right shift of a negative number -1.
"""

from __future__ import annotations

import math
import operator as python
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from operator import itemgetter
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from polysched.ir.expr.dtypes import DType, NumberKind, f32, i64
from polysched.ir.expr.expressions import (
    Cast,
    Constant,
    Expression,
    Index,
    Load,
    Number,
    Operation,
    Parameter,
)
from polysched.ir.expr.operators import LIBRARY_BINARY, LIBRARY_UNARY, Operator
from polysched.ir.semantics.c_library import library_function
from polysched.ir.semantics.half import half_bits

Scalar: TypeAlias = Any
"""An ``int``, a ``bool``, or a numpy scalar of a floating-point type."""

Read: TypeAlias = Callable[[str, tuple[int, ...]], Any]
_WIDEST = 64
"""Bits of the widest integer type."""

Compiled: TypeAlias = Callable[[Mapping[str, int]], Scalar]


def evaluate(expression: Expression, read: Read, variables: Mapping[str, int]) -> Scalar:
    """Evaluate an expression.

    Args:
        read: returns the element of an array at a tuple of subscripts.
        variables: the values of all indices and parameters.

    Raises:
        KeyError: ``variables`` lacks a name that the expression uses.
    """
    with np.errstate(all="ignore"):
        return compile_expression(expression, read)(variables)


def compile_expression(expression: Expression, read: Read) -> Compiled:
    """Compile an expression to a function of its variables, for repeated evaluation.

    Floating-point exceptions emit numpy warnings unless the caller sets ``np.errstate``.
    """
    match expression:
        case Constant(value=value, type=dtype):
            constant = as_scalar(value, dtype or i64)
            return lambda variables: constant
        case Index(name=name) | Parameter(name=name):
            return itemgetter(name)
        case Load(array=array, subscripts=subscripts, type=dtype):
            position = compile_tuple(subscripts, read)
            if dtype.is_float:
                return lambda variables: read(array, position(variables))
            return lambda variables: read(array, position(variables)).item()
        case Cast(operand=operand, type=dtype):
            return _composed(
                converter(operand.dtype or i64, dtype), [compile_expression(operand, read)]
            )
        case Operation(operator=operator, operands=operands):
            function = scalar_function(operator, operands[-1].dtype or i64)
            return _composed(function, [compile_expression(operand, read) for operand in operands])
        case _:
            raise TypeError(f"{type(expression).__name__} is not an expression node")


def compile_tuple(
    expressions: Sequence[Expression], read: Read
) -> Callable[[Mapping[str, int]], tuple[int, ...]]:
    """Compile several integer expressions to a function of their variables."""
    functions = [compile_expression(expression, read) for expression in expressions]
    return lambda variables: tuple([function(variables) for function in functions])


def _composed(function: Callable[..., Scalar], operands: list[Compiled]) -> Compiled:
    match operands:
        case [only]:
            return lambda variables: function(only(variables))
        case [left, right]:
            return lambda variables: function(left(variables), right(variables))
        case _:
            return lambda variables: function(*[operand(variables) for operand in operands])


def as_scalar(value: Number, dtype: DType) -> Scalar:
    """Convert a literal to a value of ``dtype``; integers wrap around."""
    if dtype.is_half:
        return _half(float(value), dtype)
    if dtype.is_float:
        return dtype.numpy().type(value)
    if dtype.kind is NumberKind.BOOLEAN:
        return bool(value)
    return wrapper(dtype)(int(value))


def wrapper(dtype: DType) -> Callable[[int], int]:
    """Return a function that wraps an integer to the range of an integer type, modulo 2**bits."""
    mask = (1 << dtype.bits) - 1
    if not dtype.is_signed:
        return lambda value: value & mask
    half = 1 << (dtype.bits - 1)
    return lambda value: value if -half <= value < half else ((value + half) & mask) - half


def scalar_function(operator: Operator, dtype: DType) -> Callable[..., Scalar]:
    """Return the function of an operator on operands of ``dtype`` (for a selection: branches)."""
    if dtype.is_float:
        return _FLOAT[operator]
    function = _INTEGER[operator]
    if operator not in _LEAVES_RANGE or not dtype.is_integer:
        return function
    wrap = wrapper(dtype)
    return lambda *operands: wrap(function(*operands))


def converter(source: DType, target: DType) -> Callable[[Scalar], Scalar]:
    """Return the conversion function from ``source`` to ``target``.

    Half types are converted to and from f32; an f64 is rounded to a half type once.
    """
    if source == target:
        return lambda value: value
    if source.is_half:
        convert = converter(f32, target)
        return lambda value: convert(np.float32(value))
    if target.kind is NumberKind.BOOLEAN:
        return bool
    if target.is_half:
        # An integer becomes an f32 first, as in numpy, ml_dtypes and torch.
        if source.is_float:
            return lambda value: _half(value, target)
        to_single = converter(source, f32)
        return lambda value: _half(to_single(value), target)
    if target.is_float:
        # Convert with numpy's scalar types, so that a 64-bit integer is rounded once, not twice.
        from_type, to_type = source.numpy().type, target.numpy()
        return lambda value: from_type(value).astype(to_type)[()]
    if source.is_float:
        return lambda value: _truncated(value, target)
    wrap = wrapper(target)
    return lambda value: wrap(int(value))


def _half(value: Any, dtype: DType) -> Scalar:
    return np.uint16(half_bits(value, dtype)).view(dtype.numpy())


def _truncated(value: np.floating[Any], target: DType) -> int:
    lowest = -(1 << (target.bits - 1)) if target.is_signed else 0
    if not math.isfinite(value):
        return lowest
    whole = math.trunc(float(value))
    return whole if lowest <= whole < lowest + (1 << target.bits) else lowest


def _float_minimum(left: Scalar, right: Scalar) -> Scalar:
    if np.isnan(left) or np.isnan(right):
        return left + right
    if left == right:  # the negative zero is the smaller one
        return left if np.signbit(left) else right
    return left if left < right else right


def fused_multiply_add(a: Scalar, b: Scalar, c: Scalar) -> Scalar:
    """``a * b + c`` rounded once, of three float32 or three float64 values."""
    if isinstance(a, np.float32):
        return _fma32(float(a), float(b), float(c))
    return np.float64(_fma64(float(a), float(b), float(c)))


def _fma32(a: float, b: float, c: float) -> np.float32:
    """Compute a float32 FMA in float64: exact product, sum rounded to odd, correct final rounding.

    Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using
    rounding to odd", IEEE Transactions on Computers 57 (2008).
    """
    product = a * b
    total = product + c
    if not math.isfinite(total):
        return np.float32(total)
    virtual = total - product
    error = (product - (total - virtual)) + (c - virtual)
    if error and _is_even(total):
        total = math.nextafter(total, math.copysign(math.inf, error))
    return np.float32(total)


def _is_even(value: float) -> bool:
    return not int(np.float64(value).view(np.int64)) & 1


def _fma64(a: float, b: float, c: float) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if not exact:  # only here does the sign of a zero depend on the operands' signs
        return a * b + c if not c else 0.0
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _quotient(left: int, right: int) -> int:
    if not right:
        return 0
    whole = abs(left) // abs(right)
    return whole if (left < 0) == (right < 0) else -whole


_COMMON: Mapping[Operator, Callable[..., Scalar]] = MappingProxyType(
    {
        Operator.ADD: python.add,
        Operator.SUBTRACT: python.sub,
        Operator.MULTIPLY: python.mul,
        Operator.NEGATE: python.neg,
        Operator.ABSOLUTE: abs,
        Operator.LESS: lambda left, right: bool(left < right),
        Operator.LESS_EQUAL: lambda left, right: bool(left <= right),
        Operator.EQUAL: lambda left, right: bool(left == right),
        Operator.NOT_EQUAL: lambda left, right: bool(left != right),
        Operator.SELECT: lambda condition, if_true, if_false: if_true if condition else if_false,
    }
)

_INTEGER: Mapping[Operator, Callable[..., Scalar]] = MappingProxyType(
    {
        **_COMMON,
        Operator.FLOOR_DIVIDE: lambda left, right: left // right if right else 0,
        Operator.MODULO: lambda left, right: left % right if right else 0,
        Operator.QUOTIENT: _quotient,
        Operator.REMAINDER: lambda left, right: (
            left - _quotient(left, right) * right if right else 0
        ),
        Operator.MINIMUM: min,
        Operator.MAXIMUM: max,
        Operator.AND: lambda left, right: left and right,
        Operator.OR: lambda left, right: left or right,
        Operator.NOT: python.not_,
        Operator.BIT_AND: python.and_,
        Operator.BIT_OR: python.or_,
        Operator.BIT_XOR: python.xor,
        Operator.BIT_NOT: python.invert,
        Operator.SHIFT_LEFT: lambda left, right: left << right if 0 <= right < _WIDEST else 0,
        Operator.SHIFT_RIGHT: lambda left, right: (
            left >> (right if 0 <= right < _WIDEST else _WIDEST)
        ),
    }
)

_FLOAT: Mapping[Operator, Callable[..., Scalar]] = MappingProxyType(
    {
        **_COMMON,
        Operator.DIVIDE: python.truediv,
        Operator.MINIMUM: _float_minimum,
        Operator.MAXIMUM: lambda left, right: -_float_minimum(-left, -right),
        Operator.FMA: fused_multiply_add,
        Operator.SQUARE_ROOT: np.sqrt,
        Operator.RECIPROCAL: np.reciprocal,
        Operator.RECIPROCAL_SQUARE_ROOT: lambda value: np.reciprocal(np.sqrt(value)),
        Operator.EXPONENTIAL: np.exp,
        Operator.NUMBER_MINIMUM: lambda left, right: (
            left if left < right or np.isnan(right) else right
        ),
        Operator.NUMBER_MAXIMUM: lambda left, right: (
            left if left > right or np.isnan(right) else right
        ),
        Operator.PSEUDO_MINIMUM: lambda left, right: right if right < left else left,
        Operator.PSEUDO_MAXIMUM: lambda left, right: right if right > left else left,
        Operator.FLOOR: np.floor,
        Operator.CEILING: np.ceil,
        Operator.TRUNCATE: np.trunc,
        Operator.ROUND_TO_EVEN: np.rint,
        Operator.ROUND_HALF_AWAY: library_function("round", 1),
        **{operator: library_function(operator.value, 1) for operator in LIBRARY_UNARY},
        **{operator: library_function(operator.value, 2) for operator in LIBRARY_BINARY},
    }
)

# Operators whose exact result can exceed the range of the operands' type.
_LEAVES_RANGE = frozenset(
    {
        Operator.ADD,
        Operator.SUBTRACT,
        Operator.MULTIPLY,
        Operator.NEGATE,
        Operator.ABSOLUTE,
        Operator.FLOOR_DIVIDE,
        Operator.QUOTIENT,
        Operator.BIT_NOT,
        Operator.SHIFT_LEFT,
    }
)
