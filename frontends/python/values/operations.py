"""Operators on values: Python's rules if all operands are Python numbers, else numpy's."""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Mapping
from functools import partial, reduce
from types import MappingProxyType
from typing import Any

from polysched.errors import KernelError
from polysched.frontends.python.values.floor_division import floor_quotient, floor_remainder
from polysched.frontends.python.values.numpy_operations import UFUNCS, applied, power_of_integers
from polysched.frontends.python.values.run_time_types import NoResultError, combined
from polysched.frontends.python.values.value import Value, converted, number, python_type
from polysched.ir.expr.dtypes import boolean, f64, i64
from polysched.ir.expr.expressions import Constant, operation
from polysched.ir.expr.functions import cast
from polysched.ir.expr.operators import BITWISE, COMPARISONS, SHIFTS, Operator

LARGEST_MASK = 2**62
LARGEST_SHIFT = 62
"""Masks and shifts of Python integers below these limits are rewritten as affine operations."""
LARGEST_POWER_BITS = 2048
"""Limit on the width in bits of a power of two literals, which Python evaluates."""

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


def combine(operator: Operator, *values: Value) -> Value:
    """Apply an operator as Python and numpy would.

    Raises:
        KernelError: Python, numpy or the kernel does not support the operation, or the result
            depends on the type that an operand has at run time.
    """
    return combined(partial(_combined, operator), *values, operator=operator)


def _combined(operator: Operator, *values: Value) -> Value:
    if not all(value.is_weak for value in values):
        return applied(UFUNCS[operator], *values, is_operator=True)
    literals = [_literal(value) for value in values]
    if None not in literals and operator in _ON_LITERALS:
        return _of_literals(operator, literals)
    if all(value.dtype == boolean for value in values):
        if operator in BITWISE:
            return Value(applied(UFUNCS[operator], *values).expression, is_weak=True)
        if operator is Operator.BIT_NOT:
            raise KernelError(
                "'~' of a condition gives -1 or -2 in Python, which is not supported; write 'not'"
            )
    return _of_python(operator, tuple(map(as_number, values)))


def as_number(value: Value) -> Value:
    """Convert a Python truth value to an integer: True to 1, False to 0."""
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
        raise NoResultError(f"Python cannot compute this: {error}") from None
    if isinstance(result, complex):
        raise KernelError("this is a complex number; expected a real one")
    return number(result)


def _of_python(operator: Operator, values: tuple[Value, ...]) -> Value:
    """An operation on Python numbers that are not all literals."""
    is_float = any(value.dtype.is_float for value in values)
    if operator in COMPARISONS:
        dtype = f64 if is_float else i64
        return Value(operation(operator, *(converted(value, dtype) for value in values)), True)
    if operator is Operator.DIVIDE or is_float:
        if operator not in _OF_FLOATS:
            names = " and ".join(python_type(value).__name__ for value in values)
            raise KernelError(
                f"Python does not define '{operator.value}' for {names}; expected integers"
            )
        operands = [converted(value, f64) for value in values]
        if operator is Operator.POWER and values[1].literal == 2:
            return Value(operation(Operator.MULTIPLY, operands[0], operands[0]), True)
        special = {Operator.FLOOR_DIVIDE: floor_quotient, Operator.MODULO: floor_remainder}
        if operator in special:
            return Value(special[operator](*operands), True)
        return Value(operation(operator, *operands), True)
    if operator is Operator.POWER:
        times = power_of_integers(values[1])
        factors = [values[0]] * times
        return reduce(partial(combine, Operator.MULTIPLY), factors, number(1))
    affine = _as_affine(operator, *values)
    if affine is not None:
        return affine
    if operator is Operator.SHIFT_LEFT:
        raise KernelError(
            "a Python integer that is shifted left may exceed 64 bits; convert it, as in "
            "np.int64(x) << y"
        )
    return Value(operation(operator, *(_as_i64(value) for value in values)), True)


def _as_i64(value: Value) -> Any:
    """An operand of an operation on Python integers; every operand must fit 64 bits."""
    literal = value.literal
    if literal is not None and not i64.lowest <= literal <= i64.highest:
        raise KernelError(
            f"this Python integer has {int(literal).bit_length() + 1} bits, and a kernel computes "
            "integers with 64 bits; write it as a float, or as np.uint64(x) if it fits"
        )
    return cast(value.expression, i64)


def _as_affine(operator: Operator, first: Value, *rest: Value) -> Value | None:
    """Rewrite shifts by a literal, and masks of low bits, as products, quotients and remainders.

    The result is affine if the operand is.
    """
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
    """Refuse powers of integer literals that would take Python hours to compute."""
    if operator not in (Operator.POWER, Operator.SHIFT_LEFT):
        return
    base, exponent = numbers
    if operator is Operator.SHIFT_LEFT and isinstance(base, int):
        base = 2 * abs(base)
    if not isinstance(base, int) or not isinstance(exponent, int):
        return
    if exponent * (abs(base).bit_length() - 1) > LARGEST_POWER_BITS:
        raise KernelError("this does not fit 64 bits; expected a smaller power, or a float")
