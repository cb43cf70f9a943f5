"""Values in a function: expressions with the type rules of Python numbers or numpy scalars.

A Python number is *weak* (NEP 50): combined with a numpy scalar it takes the scalar's type.
Literals, indices, parameters, Python numbers of the module, and Python arithmetic on these are
weak. Array elements, numpy scalars of the module and results of numpy functions are not weak.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from polysched.errors import KernelError
from polysched.ir.expr.dtypes import DType, as_dtype, bf16, boolean, f16, f32, f64, i64
from polysched.ir.expr.expressions import (
    Cast,
    Constant,
    Expression,
    as_expression,
    operation,
    typed,
)
from polysched.ir.expr.functions import cast
from polysched.ir.expr.operators import Operator
from polysched.ir.semantics.scalar import evaluate


@dataclass(frozen=True)
class Value:
    """An expression and the types that its value may have.

    Attributes:
        is_weak: whether it is a Python number.
        alternatives: the same value in other types, if a branch of the program decides the type:
            ``max(x, 0)`` is ``x``, a numpy scalar, or 0, a Python integer.
    """

    expression: Expression
    is_weak: bool = False
    alternatives: tuple[Value, ...] = ()

    @property
    def dtype(self) -> DType:
        """The element type; for a Python number the type in which the kernel holds it."""
        if self.expression.dtype is not None:
            return self.expression.dtype
        literal = self.expression
        return f64 if isinstance(literal, Constant) and isinstance(literal.value, float) else i64

    @property
    def literal(self) -> int | float | None:
        """The number, if it is a literal and not a truth value."""
        if isinstance(self.expression, Constant) and not isinstance(self.expression.value, bool):
            return self.expression.value
        return None

    @property
    def type_name(self) -> str:
        """The type in messages, such as ``f32`` or ``Python int``."""
        if not self.is_weak:
            return str(self.dtype)
        return f"Python {python_type(self).__name__}"


def number(value: float | bool) -> Value:
    """A Python number."""
    return Value(as_expression(value), is_weak=True)


def constant(value: object) -> Value | None:
    """The value of a literal or of an object of the module; None if it is not a number."""
    if isinstance(value, np.generic):  # np.float64 is a float too
        dtype = as_dtype(value.dtype)
        return Value(Constant(value.item(), dtype))
    if isinstance(value, bool | int | float):
        plain = next(kind for kind in (bool, int, float) if isinstance(value, kind))
        return number(plain(value))
    return None


def python_type(value: Value) -> type[bool] | type[int] | type[float]:
    """The Python type of a weak value."""
    if value.dtype == boolean:
        return bool
    return float if value.dtype.is_float else int


def converted(value: Value, dtype: DType) -> Expression:
    """Convert a value to another type, as numpy does."""
    expression, literal = value.expression, value.literal
    if dtype == boolean and literal is not None:
        return Constant(bool(literal), boolean)
    if value.is_weak and isinstance(literal, int) and dtype.is_float:
        try:
            return cast(Constant(float(literal)), dtype)
        except OverflowError:
            raise KernelError(f"literal {literal} does not fit the type {dtype}") from None
    if value.is_weak and isinstance(literal, float) and dtype.is_integer:
        if not math.isfinite(literal):
            raise KernelError(f"{literal} has no value as {dtype}; expected a finite number")
        return cast(Constant(int(literal)), dtype)
    if literal is not None and value.dtype.is_float and dtype.is_float and not value.is_weak:
        return Constant(float(dtype.numpy().type(literal)), dtype)
    if value.is_weak and value.dtype == i64 and dtype == f32:
        expression = cast(expression, f64)  # numpy rounds a Python integer twice
    return cast(expression, dtype)


def stored(value: Value, dtype: DType) -> Expression:
    """The expression that an assignment to an element of type ``dtype`` stores.

    Raises:
        KernelError: the conversion depends on the value's type at run time, or an integer of odd
            width would be converted implicitly.
    """
    is_whole = value.is_weak and python_type(value) is int
    if value.dtype != dtype and (dtype.is_odd_width or value.dtype.is_odd_width) and not is_whole:
        raise KernelError(
            f"this is {value.dtype} and is stored as {dtype}; convert it, as in "
            f"np.{dtype.numpy().name}(x)"
        )
    require_one_meaning(value, dtype)
    return converted(value, dtype)


def require_one_meaning(value: Value, dtype: DType) -> None:
    """Check that all alternatives of a value convert to the same number of type ``dtype``.

    Raises:
        KernelError: an alternative would be rounded differently.
    """
    for other in value.alternatives:
        if other.literal is not None:
            held = Value(converted(other, value.dtype))
            is_same = evaluated(Value(converted(held, dtype))) == evaluated(
                Value(converted(other, dtype))
            )
        else:
            is_same = dtype in (value.dtype, other.dtype)
        if not is_same:
            raise ambiguous(value, other)


def evaluated(value: Value) -> str:
    """The number of an expression of literals, as text: NaN equals itself, and 0.0 is not -0.0."""
    result = evaluate(typed(value.expression, value.dtype), _no_array, {})
    is_whole = not value.dtype.is_float or (
        float(result).is_integer() and repr(float(result)) != "-0.0"
    )
    return str(int(result)) if is_whole else repr(float(result))


def _no_array(array: str, subscripts: tuple[int, ...]) -> Any:
    raise AssertionError(f"a literal reads {array}{subscripts}")


def ambiguous(value: Value, other: Value) -> KernelError:
    """The error for a value whose type is decided at run time and changes the result."""
    return KernelError(
        f"a branch decides whether this is {value.type_name} or {other.type_name}, and the result "
        "depends on the type; convert it where it is chosen, as in "
        f"np.{value.dtype.numpy().name}(x)"
    )


def choices(*values: Value) -> Iterator[tuple[Value, ...]]:
    """Yield all combinations of the types that operands may have, the main types first."""
    yield from itertools.product(*((bare(value), *value.alternatives) for value in values))


def bare(value: Value) -> Value:
    """A value without its alternatives."""
    return replace(value, alternatives=())


def odd_type(*values: Value) -> DType:
    """The type of integers of an odd width, which combine with it and with Python's integers."""
    strong = {value.dtype for value in values if not value.is_weak}
    if len(strong) > 1 or any(value.is_weak and value.dtype != i64 for value in values):
        names = " and ".join(sorted(value.type_name for value in values))
        raise KernelError(f"this mixes {names}; convert one side, as in np.int32(x)")
    return strong.pop()


def common_type(*values: Value) -> tuple[DType, bool]:
    """Numpy's promoted type of values, as for ``np.where``, and whether all values are weak."""
    strong = {value.dtype for value in values if not value.is_weak}
    if any(dtype.is_odd_width for dtype in strong):
        return odd_type(*values), False
    types: list[Any] = [
        python_type(value)() if value.is_weak else value.dtype.numpy() for value in values
    ]
    return as_dtype(np.result_type(*types)), not strong


def united(*values: Value) -> tuple[tuple[Expression, ...], DType, bool]:
    """Convert the alternatives of a selection to one type that represents all of them exactly.

    Returns:
        the converted values, the type, and whether all are Python numbers.
    """
    dtype, is_weak = common_type(*values)
    for value in values:
        if not _is_kept(value, dtype):
            raise KernelError(
                f"this chooses between {dtype} and {value.type_name}, which {dtype} may not "
                f"represent exactly; convert it, as in np.{dtype.numpy().name}(x)"
            )
    return tuple(converted(value, dtype) for value in values), dtype, is_weak


def chosen_of(expression: Expression, *values: Value) -> Value:
    """The value of ``expression``, which selects one of ``values``."""
    dtype, is_weak = common_type(*values)
    alternatives: list[Value] = []
    for choice in (kind for value in values for kind in (bare(value), *value.alternatives)):
        if (choice.dtype, choice.is_weak) != (dtype, is_weak) and choice not in alternatives:
            alternatives.append(choice)
    return Value(expression, is_weak, tuple(alternatives))


def chosen(condition: Value, if_true: Value, if_false: Value) -> Value:
    """The value of ``if_true if condition else if_false``.

    Raises:
        KernelError: ``condition`` is not a truth value, or no type represents both sides exactly.
    """
    require_condition(condition)
    branches, _, _ = united(if_true, if_false)
    result = operation(Operator.SELECT, condition.expression, *branches)
    return chosen_of(result, if_true, if_false)


def require_condition(value: Value) -> None:
    """Check that a value is a truth value."""
    if value.dtype != boolean:
        raise KernelError(f"this is {value.dtype}; expected a condition, such as x > 0")


def _is_kept(value: Value, dtype: DType) -> bool:
    """Whether a type represents every possible number of a value exactly."""
    if value.dtype == dtype:
        return value.literal is None or not dtype.is_integer or fits(value.literal, dtype)
    if boolean in (value.dtype, dtype):
        return False
    if value.is_weak and value.literal is not None:
        if dtype.is_integer:
            return fits(value.literal, dtype)
        try:
            return float(dtype.numpy().type(value.literal)) == value.literal
        except OverflowError:
            return False
    if value.is_weak and dtype.is_float:
        return value.dtype == i64
    if value.dtype.is_float or dtype.is_integer:
        return not value.is_weak and bool(np.can_cast(value.dtype.numpy(), dtype.numpy()))
    return value.dtype.bits <= _FRACTION_BITS[dtype]


_FRACTION_BITS: Mapping[DType, int] = MappingProxyType({bf16: 7, f16: 10, f32: 23, f64: 52})


def literal_of(number: float, dtype: DType) -> Constant:
    """A number as a literal of a type."""
    if dtype == boolean:
        return Constant(bool(number), boolean)
    return Constant(float(number) if dtype.is_float else int(number), dtype)


def fits(literal: float, dtype: DType) -> bool:
    """Whether a Python number is an integer of a type."""
    return dtype.lowest <= literal <= dtype.highest


def opaque(expression: Expression) -> Expression:
    """Convert a numpy integer to a Python integer.

    The explicit cast marks the arithmetic inside as numpy's, which wraps around.
    """
    return Cast(expression, i64)
