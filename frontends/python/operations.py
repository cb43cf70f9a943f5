"""Operators on values: by Python if all operands are Python numbers, else by numpy."""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from polysched.errors import KernelError
from polysched.frontends.python.floor_division import floor_quotient, floor_remainder
from polysched.frontends.python.numpy_operations import UFUNCS, applied
from polysched.frontends.python.values import (
    Value,
    ambiguous,
    bare,
    choices,
    converted,
    number,
    python_type,
)
from polysched.ir.dtypes import boolean, f64, i64
from polysched.ir.expressions import Constant, operation, typed
from polysched.ir.functions import cast
from polysched.ir.operators import BITWISE, COMPARISONS, SHIFTS, Operator
from polysched.ir.scalar import evaluate

LARGEST_MASK = 2**62
LARGEST_SHIFT = 62
"""Limits of operations on bits of Python integers that become products and remainders."""
LARGEST_POWER_BITS = 2048
"""Most bits of a power of two literals."""

_ON_LITERALS: Mapping[Operator, Callable[..., Any]] = MappingProxyType(
    {
        Operator.ADD: python.add,
        Operator.SUBTRACT: python.sub,
        Operator.MULTIPLY: python.mul,
        Operator.DIVIDE: python.truediv,
        Operator.FLOOR_DIVIDE: python.floordiv,
        Operator.MODULO: python.mod,
        Operator.NEGATE: python.neg,
        Operator.POWER: python.pow,
        Operator.ABSOLUTE: abs,
        Operator.LESS: python.lt,
        Operator.LESS_EQUAL: python.le,
        Operator.EQUAL: python.eq,
        Operator.NOT_EQUAL: python.ne,
        Operator.BIT_AND: python.and_,
        Operator.BIT_OR: python.or_,
        Operator.BIT_XOR: python.xor,
        Operator.SHIFT_LEFT: python.lshift,
        Operator.SHIFT_RIGHT: python.rshift,
    }
)
_OF_FLOATS = frozenset(
    {
        Operator.ADD,
        Operator.SUBTRACT,
        Operator.MULTIPLY,
        Operator.DIVIDE,
        Operator.FLOOR_DIVIDE,
        Operator.MODULO,
        Operator.NEGATE,
        Operator.POWER,
        Operator.ABSOLUTE,
    }
)
_ZERO_OPERANDS: Mapping[Operator, tuple[int, ...]] = MappingProxyType(
    {
        Operator.MULTIPLY: (0, 1),
        Operator.DIVIDE: (0,),
        Operator.FLOOR_DIVIDE: (0,),
        Operator.MODULO: (0,),
    }
)
"""The operands of which each makes the result 0 where it is 0."""


def combine(operator: Operator, *values: Value) -> Value:
    """Apply an operator as Python and numpy would.

    Raises:
        KernelError: Python or numpy has no such operation, kernels have not, or the result depends
            on which type an operand turns out to have.
    """
    return combined(
        partial(_combined, operator), *values, zero_operands=_ZERO_OPERANDS.get(operator, ())
    )


def combined(
    function: Callable[..., Value], *values: Value, zero_operands: tuple[int, ...] = ()
) -> Value:
    """Apply a function of values to operands of which some may have one of several types.

    Args:
        function: of values without alternatives.
        zero_operands: the operands of which each makes the result 0 where it is 0.

    Raises:
        KernelError: the function does, or the number that it gives depends on the types.
    """
    first, *others = choices(*values)
    result = function(*first)
    alternatives: list[Value] = []
    for one in others:
        found = _agreeing(function, (first, one), result, zero_operands)
        if found is not None and found not in alternatives:
            alternatives.append(found)
    return Value(result.expression, result.is_weak, tuple(alternatives))


def _combined(operator: Operator, *values: Value) -> Value:
    if not all(one.is_weak for one in values):
        return applied(UFUNCS[operator], *values, is_operator=True)
    literals = [_literal(one) for one in values]
    if None not in literals and operator in _ON_LITERALS:
        return _of_literals(operator, literals)
    if all(one.dtype == boolean for one in values):
        if operator in BITWISE:
            return Value(applied(UFUNCS[operator], *values).expression, is_weak=True)
        if operator is Operator.BIT_NOT:
            raise KernelError("'~' of a condition, of which Python makes -1 or -2; write 'not'")
    return _of_python(operator, tuple(map(as_number, values)))


def as_number(value: Value) -> Value:
    """A Python number with True as 1 and False as 0."""
    if value.dtype != boolean:
        return value
    literal = _literal(value)
    return Value(cast(value.expression, i64), True) if literal is None else number(int(literal))


def _literal(value: Value) -> float | None:
    return value.expression.value if isinstance(value.expression, Constant) else None


def _of_literals(operator: Operator, literals: list[Any]) -> Value:
    _require_small_power(operator, literals)
    try:
        result = _ON_LITERALS[operator](*literals)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise KernelError(f"Python cannot compute this: {error}") from None
    if isinstance(result, complex):
        raise KernelError("this is a complex number; expected a real one")
    return number(result)


def _of_python(operator: Operator, values: tuple[Value, ...]) -> Value:
    """An operation on Python numbers of which one at least is not known."""
    is_float = any(one.dtype.is_float for one in values)
    if operator in COMPARISONS:
        dtype = f64 if is_float else i64
        return Value(operation(operator, *(converted(one, dtype) for one in values)), True)
    if operator is Operator.DIVIDE or is_float:
        if operator not in _OF_FLOATS:
            names = " and ".join(python_type(one).__name__ for one in values)
            raise KernelError(f"Python has no '{operator.value}' of {names}; expected integers")
        operands = [converted(one, f64) for one in values]
        if operator is Operator.POWER and values[1].literal == 2:
            return Value(operation(Operator.MULTIPLY, operands[0], operands[0]), True)
        special = {Operator.FLOOR_DIVIDE: floor_quotient, Operator.MODULO: floor_remainder}
        if operator in special:
            return Value(special[operator](*operands), True)
        return Value(operation(operator, *operands), True)
    if operator is Operator.POWER:
        if values[1].literal == 2:
            return _of_python(Operator.MULTIPLY, (values[0], values[0]))
        raise KernelError("'**' of integers; expected floating-point numbers, or a product")
    affine = _as_affine(operator, *values)
    if affine is not None:
        return affine
    if operator is Operator.SHIFT_LEFT:
        raise KernelError(
            "a Python integer that is shifted to the left may get longer than 64 bits; convert "
            "it, as in np.int64(x) << y"
        )
    return Value(operation(operator, *(_as_i64(one) for one in values)), True)


def _as_i64(value: Value) -> Any:
    """An operand of an operation on Python integers, of which every one has to fit 64 bits."""
    literal = value.literal
    if literal is not None and not i64.lowest <= literal <= i64.highest:
        raise KernelError(
            f"this Python integer has {int(literal).bit_length() + 1} bits, and a kernel computes "
            "integers with 64; write it as a float, or as np.uint64(x) if it fits"
        )
    return cast(value.expression, i64)


def _as_affine(operator: Operator, first: Value, *rest: Value) -> Value | None:
    """Python integers shifted by a literal, or their lowest bits, as products and remainders."""
    known = rest[0].literal if rest else None
    if not isinstance(known, int):
        return None
    if operator in SHIFTS and known < 0:
        raise KernelError(f"a shift by {known} bits; expected 0 or more")
    if not 0 <= known < LARGEST_MASK:
        return None
    if operator is Operator.BIT_AND and not known & (known + 1):
        return combine(Operator.MODULO, first, number(known + 1))
    if operator in SHIFTS and known < LARGEST_SHIFT:
        is_left = operator is Operator.SHIFT_LEFT
        factor = number(1 << known)
        return combine(Operator.MULTIPLY if is_left else Operator.FLOOR_DIVIDE, first, factor)
    return None


def _require_small_power(operator: Operator, numbers: list[Any]) -> None:
    """Check that a power of integers is not one that Python would compute for hours."""
    if operator not in (Operator.POWER, Operator.SHIFT_LEFT):
        return
    base, exponent = numbers
    if operator is Operator.SHIFT_LEFT and isinstance(base, int):
        base = 2 * abs(base)
    if not isinstance(base, int) or not isinstance(exponent, int):
        return
    if exponent * (abs(base).bit_length() - 1) > LARGEST_POWER_BITS:
        raise KernelError("this does not fit 64 bits; expected a smaller power, or a float")


def _agreeing(
    function: Callable[..., Value],
    operands: tuple[tuple[Value, ...], tuple[Value, ...]],
    result: Value,
    zero_operands: tuple[int, ...],
) -> Value | None:
    """The result for operands of the second types; None if it has the type of ``result`` too.

    Raises:
        KernelError: it may be another number than ``result``.
    """
    first, other = operands
    found = function(*other)
    if (found.dtype, found.is_weak) == (result.dtype, result.is_weak):
        return None
    if found.dtype == result.dtype:
        return found if _literal(found) is not None else Value(result.expression, found.is_weak)
    if _is_same_number(function, first, other, found):
        return found
    if any(other[at].literal == 0 for at in zero_operands):
        zero = number(0.0 if found.dtype.is_float else 0)
        return zero if found.is_weak else Value(converted(zero, found.dtype))
    if result.is_weak and found.is_weak:
        return found  # an integer, or the same number as a float
    which = next(at for at, one in enumerate(other) if one is not first[at])
    raise ambiguous(bare(first[which]), other[which])


def _is_same_number(
    function: Callable[..., Value],
    first: tuple[Value, ...],
    other: tuple[Value, ...],
    found: Value,
) -> bool:
    """Whether literals give one number in the types of ``first`` and in those of ``other``."""
    if any(one.literal is None for one in other):
        return False
    same = [
        one if one is kept else Value(converted(one, kept.dtype), kept.is_weak)
        for kept, one in zip(first, other, strict=True)
    ]
    numbers = [
        float(evaluate(typed(one.expression, one.dtype), _no_array, {}))
        for one in (function(*same), found)
    ]
    return repr(numbers[0]) == repr(numbers[1])


def _no_array(array: str, subscripts: tuple[int, ...]) -> Any:
    raise AssertionError(f"a literal reads {array}{subscripts}")
