"""Operations on values whose type a branch of the program decides.

A kernel holds such a value in one type that represents all choices exactly. An operation is
accepted if it gives the same number, with the same sign of zero, in the types of every choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from polysched.errors import KernelError
from polysched.frontends.python.values.value import (
    Value,
    ambiguous,
    bare,
    choices,
    common_type,
    converted,
    evaluated,
    number,
)
from polysched.ir.expr.dtypes import DType, NumberKind, boolean
from polysched.ir.expr.operators import COMPARISONS, Operator

_ZERO_OPERANDS: Mapping[Operator, tuple[int, ...]] = MappingProxyType(
    {
        Operator.MULTIPLY: (0, 1),
        Operator.DIVIDE: (0,),
        Operator.FLOOR_DIVIDE: (0,),
        Operator.MODULO: (0,),
    }
)
"""The operands whose value 0 makes the result 0, or NaN: the same in all types of floats."""
_ALIKE = frozenset({Operator.ADD, Operator.SUBTRACT, Operator.ABSOLUTE}) | COMPARISONS
_ALIKE_BY_POSITIVE = frozenset({Operator.MULTIPLY, Operator.FLOOR_DIVIDE, Operator.MODULO})
"""Operators that give the same number for integers and for the same numbers as floats.

The second have to be applied to a positive literal: ``0 * -1`` is 0, ``0.0 * -1.0`` is -0.0.
"""


class NoResultError(KernelError):
    """Python raises an exception instead of computing a value, such as ``1.0 / 0.0``."""


def combined(
    function: Callable[..., Value], *values: Value, operator: Operator | None = None
) -> Value:
    """Apply a function to operands that may have one of several types at run time.

    Args:
        function: takes values without alternatives.
        operator: the operator that the function applies, if any.

    Raises:
        KernelError: the function raises it, or its result depends on the types of the operands.
    """
    first, *others = choices(*values)
    result = function(*first)
    alternatives: list[Value] = []
    for choice in others:
        alternative = _agreeing(function, (first, choice), result, operator)
        if alternative is not None and alternative not in alternatives:
            alternatives.append(alternative)
    return Value(result.expression, result.is_weak, tuple(alternatives))


def _agreeing(
    function: Callable[..., Value],
    operands: tuple[tuple[Value, ...], tuple[Value, ...]],
    result: Value,
    operator: Operator | None,
) -> Value | None:
    """The result for the second choice of operand types; None if its type is that of ``result``.

    Raises:
        KernelError: its value may differ from ``result``.
    """
    first, second = operands
    try:
        other = function(*second)
    except NoResultError:  # the kernel's result is numpy's, as for all divisions by zero
        return None
    if _is_same_number(function, first, second, other):
        return None if _type(other) == _type(result) else other
    if other.dtype == result.dtype and _is_computed_alike(first, second):
        if _type(other) == _type(result):
            return None
        return other if other.literal is not None else Value(result.expression, other.is_weak)
    if other.dtype != result.dtype:
        if _is_zero(operator, second, other):
            zero = number(0.0 if other.dtype.is_float else 0)
            return zero if other.is_weak else Value(converted(zero, other.dtype))
        is_integer = result.is_weak and other.is_weak and other.literal is None
        if is_integer and _is_alike_for_integers(operator, second):
            return other  # the result holds it as a float
    changed = next(at for at, operand in enumerate(second) if operand is not first[at])
    raise ambiguous(bare(first[changed]), second[changed])


def _type(value: Value) -> tuple[DType, bool]:
    return value.dtype, value.is_weak


def _is_computed_alike(first: tuple[Value, ...], second: tuple[Value, ...]) -> bool:
    """Whether a result of one type is computed from the same numbers in both choices.

    The numbers are those that the operands have in the common type of the operands.
    """
    types = common_type(*first)[0], common_type(*second)[0]
    for held, chosen in zip(first, second, strict=True):
        if chosen.literal is not None:
            if types[0] != types[1] and len({_in_type(chosen, dtype) for dtype in types}) > 1:
                return False
        elif chosen.is_weak:
            # Indices are exact as f64, not as f32, to which NumPy would convert them only here.
            passed = {held.dtype, *types} if held is not chosen else set(types)
            if len(passed) > 1 and any(dtype.is_float and dtype.bits < 64 for dtype in passed):
                return False
    return True


def _in_type(literal: Value, dtype: DType) -> str:
    try:
        return evaluated(Value(converted(literal, dtype)))
    except KernelError:  # it does not fit
        return str(dtype)


def _is_zero(operator: Operator | None, operands: tuple[Value, ...], result: Value) -> bool:
    """Whether an operand is the literal 0 and makes the result 0, or NaN, in every type.

    An integer 0 has no sign, and is the quotient even where a float would give NaN.
    """
    for at in () if operator is None else _ZERO_OPERANDS.get(operator, ()):
        if operands[at].literal != 0:
            continue
        others = [operand.dtype for place, operand in enumerate(operands) if place != at]
        if result.dtype.is_float:
            return True
        is_product = operator is Operator.MULTIPLY
        return is_product and all(
            dtype == boolean or dtype.kind is NumberKind.UNSIGNED for dtype in others
        )
    return False


def _is_alike_for_integers(operator: Operator | None, operands: tuple[Value, ...]) -> bool:
    if operator in _ALIKE:
        return True
    literals = [operand.literal or 0 for operand in operands[1:]]
    if operator is Operator.MULTIPLY:
        literals.append(operands[0].literal or 0)
    return operator in _ALIKE_BY_POSITIVE and max(literals) > 0


def _is_same_number(
    function: Callable[..., Value],
    first: tuple[Value, ...],
    second: tuple[Value, ...],
    result: Value,
) -> bool:
    """Whether literals give the same number in the types of ``first`` and of ``second``."""
    if any(operand.literal is None for operand in second):
        return False
    same = [
        operand if operand is kept else Value(converted(operand, kept.dtype), kept.is_weak)
        for kept, operand in zip(first, second, strict=True)
    ]
    return evaluated(function(*same)) == evaluated(result)
