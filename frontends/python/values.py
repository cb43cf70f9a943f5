"""Values as numpy's scalars and Python's own numbers combine: expressions that may be weak.

A Python number is *weak*: beside a numpy scalar it takes that one's type, as numpy 2 has it
(NEP 50). Weak values are literals, indices, parameters, and what Python computes of these. Nothing
else is converted in silence. Where Python raises - an index does not fit the type that it meets or
is stored in, a divisor is 0 - the kernel goes on with what :mod:`polysched.ir.scalar` defines.
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from polysched.errors import KernelError
from polysched.ir.dtypes import DType, boolean, f64, i64, u64
from polysched.ir.expressions import Constant, Expression, as_expression, operation, typed
from polysched.ir.functions import cast, select
from polysched.ir.operators import COMPARISONS, SHIFTS, Operator


@dataclass(frozen=True)
class Value:
    """An expression, and whether it takes the type of what it meets."""

    expression: Expression
    is_weak: bool = False

    @property
    def dtype(self) -> DType:
        """Its type: of a literal, what Python's own number would be."""
        if self.expression.dtype is not None:
            return self.expression.dtype
        literal = self.expression
        return f64 if isinstance(literal, Constant) and isinstance(literal.value, float) else i64

    @property
    def literal(self) -> int | float | None:
        """Its number, if it is one that is known, and no truth value."""
        if isinstance(self.expression, Constant) and not isinstance(self.expression.value, bool):
            return self.expression.value
        return None


def number(value: float | bool) -> Value:
    """A Python number."""
    return Value(as_expression(value), is_weak=not isinstance(value, bool))


LARGEST_MASK = 2**62
LARGEST_SHIFT = 62
"""Up to which operations on bits of Python's integers are products and remainders."""
LARGEST_POWER_BITS = 2048
"""Of a power of two literals, whose digits may still go together to a number that fits."""

_ON_NUMBERS: Mapping[Operator, Callable[..., Any]] = MappingProxyType(
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
        Operator.BIT_NOT: python.invert,
        Operator.SHIFT_LEFT: python.lshift,
        Operator.SHIFT_RIGHT: python.rshift,
    }
)
_OF_CONDITIONS: Mapping[Operator, Operator] = MappingProxyType(
    {Operator.BIT_AND: Operator.AND, Operator.BIT_OR: Operator.OR}
)
"""What operations on bits are of two conditions."""


def combine(operator: Operator, *values: Value) -> Value:
    """Apply an operation as Python and numpy would.

    Raises:
        KernelError: the types do not go together.
    """
    numbers = [value.literal if value.is_weak else None for value in values]
    if None not in numbers and operator in _ON_NUMBERS:
        _require_small_power(operator, numbers)
        try:
            result = _ON_NUMBERS[operator](*numbers)
        except (ArithmeticError, TypeError) as error:
            raise KernelError(f"Python cannot compute this: {error}") from None
        if isinstance(result, complex):
            raise KernelError("this is a complex number; expected a real one")
        return number(result)
    if operator is Operator.DIVIDE:
        values = tuple(_as_float(value) for value in values)
    dtype, is_weak = common_type(*values)
    if dtype == boolean and operator in _OF_CONDITIONS:
        return Value(operation(_OF_CONDITIONS[operator], *(one.expression for one in values)))
    if dtype == boolean and operator is Operator.BIT_NOT:
        raise KernelError("'~' of a condition, of which Python makes -1 or -2; write 'not'")
    if is_weak and not dtype.is_float:
        affine = _as_affine(operator, *values)
        if affine is not None:
            return affine
        if operator is Operator.SHIFT_LEFT:
            raise KernelError(
                "a Python integer that is shifted to the left may get longer than 64 bits; convert "
                "it, as in np.int64(x) << y"
            )
    if operator in COMPARISONS and dtype.is_integer and not is_weak:
        return _compared(operator, dtype, *values)
    if operator is Operator.POWER and not dtype.is_float:
        raise KernelError("'**' of integers; expected floating-point numbers, or a product")
    result = operation(operator, *(converted(value, dtype).expression for value in values))
    return Value(result, is_weak and operator not in COMPARISONS)


def power(base: Value, exponent: Value) -> Value:
    """``base ** exponent``; a square is a product."""
    if exponent.literal == 2 and base.literal is None:
        return combine(Operator.MULTIPLY, base, base)
    return combine(Operator.POWER, base, exponent)


def _as_affine(operator: Operator, first: Value, *rest: Value) -> Value | None:
    """Python integers shifted by a literal, or their lowest bits, as products and remainders."""
    known = rest[0].literal if rest else None
    if not isinstance(known, int) or not 0 <= known < LARGEST_MASK:
        return None
    if operator is Operator.BIT_AND and not known & (known + 1):
        return combine(Operator.MODULO, first, number(known + 1))
    if operator in SHIFTS and known < LARGEST_SHIFT:
        is_left = operator is Operator.SHIFT_LEFT
        factor = number(1 << known)
        return combine(Operator.MULTIPLY if is_left else Operator.FLOOR_DIVIDE, first, factor)
    return None


def _require_small_power(operator: Operator, numbers: list[int | float | None]) -> None:
    """Check that a power of integers is none that Python would compute for hours."""
    if operator not in (Operator.POWER, Operator.SHIFT_LEFT):
        return
    base, exponent = numbers
    if operator is Operator.SHIFT_LEFT and isinstance(base, int):
        base = 2 * abs(base)
    if not isinstance(base, int) or not isinstance(exponent, int):
        return
    if exponent * (abs(base).bit_length() - 1) > LARGEST_POWER_BITS:
        raise KernelError("this does not fit 64 bits; expected a smaller power, or a float")


def _compared(operator: Operator, dtype: DType, left: Value, right: Value) -> Value:
    """Integers as numpy compares them: by what they are, though a weak one may not fit the type."""
    weak = left if left.is_weak else right
    if left.is_weak == right.is_weak or _fits(weak, dtype):
        operands = (converted(one, dtype).expression for one in (left, right))
        return Value(operation(operator, *operands))
    if dtype != u64:
        operands = (cast(typed(one.expression, i64), i64) for one in (left, right))
        return Value(operation(operator, *operands))
    negative = operation(Operator.LESS, typed(weak.expression, i64), 0)
    holds = operation(operator, *(cast(typed(one.expression, i64), u64) for one in (left, right)))
    # A negative number is less than all that the type has, so it is unequal to it too.
    if operator is Operator.NOT_EQUAL or (operator is not Operator.EQUAL and weak is left):
        return Value(negative | holds)
    return Value(~negative & holds)


def _fits(weak: Value, dtype: DType) -> bool:
    """Whether a Python integer is known to be one of a type."""
    if weak.literal is None:
        return False
    lowest = -(1 << (dtype.bits - 1)) if dtype.is_signed else 0
    return lowest <= weak.literal < lowest + (1 << dtype.bits)


def common_type(*values: Value) -> tuple[DType, bool]:
    """The type in which values meet, and whether it is weak.

    Raises:
        KernelError: there is none without a conversion that no one has written.
    """
    strong = {value.dtype for value in values if not value.is_weak}
    if len(strong) > 1:
        raise KernelError(
            f"this mixes {' and '.join(sorted(map(str, strong)))}; convert one side, as in "
            "np.float32(x)"
        )
    weak = {value.dtype for value in values if value.is_weak}
    if not strong:
        return (f64 if f64 in weak else i64), True
    dtype = strong.pop()
    if (dtype == boolean and weak) or (not dtype.is_float and f64 in weak):
        raise KernelError(
            f"this mixes {dtype} and a Python number; convert one side, as in np.float32(x)"
        )
    return dtype, False


def require_kept(*values: Value) -> None:
    """Check that one of several values, as Python chooses it, is the same in their common type.

    Python gives the one that it chooses as it is: a Python number takes no type.

    Raises:
        KernelError: a Python number may be another one there.
    """
    dtype, is_weak = common_type(*values)
    for value in values:
        if is_weak or not value.is_weak or _is_kept(value, dtype):
            continue
        raise KernelError(
            f"this chooses between {dtype} and a Python number, which need not be one of {dtype}; "
            f"convert it, as in np.{dtype.numpy().name}(x)"
        )


def _is_kept(weak: Value, dtype: DType) -> bool:
    if weak.literal is None:
        return dtype in (i64, f64) or (dtype.is_float and weak.dtype == i64)
    if not dtype.is_float:
        return _fits(weak, dtype)
    return float(dtype.numpy().type(weak.literal)) == weak.literal


def converted(value: Value, dtype: DType) -> Value:
    """A value in a type that :func:`common_type` gave for it."""
    if value.literal is not None and dtype.is_float:
        return Value(Constant(float(value.literal), dtype), value.is_weak)
    return Value(cast(value.expression, dtype), value.is_weak)


def stored(value: Value, dtype: DType) -> Expression:
    """What an assignment to an element of a type stores.

    Raises:
        KernelError: it is of another type.
    """
    fits = value.dtype == dtype or (value.is_weak and (dtype.is_float or value.dtype == i64))
    if not fits or (dtype == boolean) != (value.dtype == boolean):
        raise KernelError(
            f"this is {value.dtype} and is stored as {dtype}; convert it, as in "
            f"np.{dtype.numpy().name}(x)"
        )
    return converted(value, dtype).expression


def chosen(condition: Value, if_true: Value, if_false: Value) -> Value:
    """``if_true if condition else if_false``; both are computed.

    Raises:
        KernelError: it is no condition, or the types do not go together.
    """
    if condition.dtype != boolean:
        raise KernelError(f"this is {condition.dtype}; expected a condition, such as x > 0")
    dtype, is_weak = common_type(if_true, if_false)
    branches = (converted(branch, dtype).expression for branch in (if_true, if_false))
    return Value(select(condition.expression, *branches), is_weak)


def _as_float(value: Value) -> Value:
    return value if value.dtype.is_float else Value(cast(value.expression, f64), value.is_weak)
