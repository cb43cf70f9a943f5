"""Functions on expressions: minimum, maximum, roots, equality, selection and conversion."""

from __future__ import annotations

import numpy as np

from polysched.errors import KernelError
from polysched.ir.expr.dtypes import DType, as_dtype
from polysched.ir.expr.expressions import (
    Cast,
    Expression,
    Operand,
    as_expression,
    in_arithmetic,
    operation,
    typed,
)
from polysched.ir.expr.operators import Operator


def minimum(left: Operand, right: Operand, *more: Operand) -> Expression:
    """The smallest operand; a NaN operand gives NaN (IEEE 754-2019 ``minimum``, as in numpy)."""
    return _folded(Operator.MINIMUM, left, right, *more)


def maximum(left: Operand, right: Operand, *more: Operand) -> Expression:
    """The largest operand; a NaN operand gives NaN (IEEE 754-2019 ``maximum``, as in numpy)."""
    return _folded(Operator.MAXIMUM, left, right, *more)


def _folded(operator: Operator, left: Operand, right: Operand, *more: Operand) -> Expression:
    result = operation(operator, left, right)
    for operand in more:
        result = operation(operator, result, operand)
    return result


def fma(a: Operand, b: Operand, c: Operand) -> Expression:
    """Fused multiply-add: ``a * b + c`` rounded once (floats only)."""
    return operation(Operator.FMA, a, b, c)


def absolute(value: Operand) -> Expression:
    """The absolute value; the smallest signed integer is returned unchanged."""
    return operation(Operator.ABSOLUTE, value)


def sqrt(value: Operand) -> Expression:
    """The correctly rounded square root (floats only)."""
    return operation(Operator.SQUARE_ROOT, value)


def exp(value: Operand) -> Expression:
    """The exponential function (floats only)."""
    return operation(Operator.EXPONENTIAL, value)


def equal(left: Operand, right: Operand) -> Expression:
    """Whether two values are equal; use it instead of ``==``, which compares the trees."""
    return operation(Operator.EQUAL, left, right)


def not_equal(left: Operand, right: Operand) -> Expression:
    """Whether two values differ."""
    return operation(Operator.NOT_EQUAL, left, right)


def select(condition: Operand, if_true: Operand, if_false: Operand) -> Expression:
    """``if_true`` where ``condition`` holds, else ``if_false``; both are evaluated.

    Raises:
        KernelError: the condition is a Python bool, such as the result of ``==`` between two
            expressions, which compares the trees.
    """
    if isinstance(condition, (bool, np.bool_)):
        raise KernelError(
            f"select({condition}, ...): expected a condition such as x < y; '==' and '!=' between "
            "expressions compare how they are written: use ps.equal(a, b) and ps.not_equal(a, b)"
        )
    return operation(Operator.SELECT, condition, if_true, if_false)


def cast(value: Operand, dtype: DType | str) -> Expression:
    """Convert a value to ``dtype``: float to integer truncates, narrower integers wrap.

    A float that does not fit the integer type, after truncation, becomes the smallest integer of
    the type: -2**31 for i32, 0 for u8. So do NaN and infinities. ``saturate`` takes the nearest
    integer instead. numpy leaves these values to the processor.

    A half type is converted to f32 and from there to any other type. From f32 and f64 it is rounded
    once, to nearest even; from an integer through f32.

    Raises:
        KernelError: the element type is unknown, or a literal does not fit it.
    """
    operand, target = as_expression(value), as_dtype(dtype)
    if operand.dtype is None:
        return typed(operand, target)
    if operand.dtype == target:
        return operand
    operand = in_arithmetic(operand)
    if target.is_half and operand.dtype is not None and not operand.dtype.is_float:
        operand = Cast(operand, target.arithmetic)
    return operand if operand.dtype == target else Cast(operand, target)


def to_store(value: Expression, dtype: DType) -> Expression:
    """Return a value as an array of ``dtype`` stores it: f32 is rounded to a half type.

    An untyped literal takes the type. A value of another type is returned unchanged.
    """
    value = typed(value, dtype)
    is_rounded = dtype.is_half and value.dtype == dtype.arithmetic
    return Cast(value, dtype) if is_rounded else value
