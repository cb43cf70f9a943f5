"""Interval arithmetic over the Python integers that a kernel computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from polysched.ir.expr.dtypes import DType, boolean, i64
from polysched.ir.expr.expressions import (
    Cast,
    Constant,
    Expression,
    Index,
    Load,
    Operation,
    Parameter,
)
from polysched.ir.expr.operators import COMPARISONS, LOGICAL, Operator


@dataclass(frozen=True)
class Interval:
    """The integers from ``lowest`` to ``highest``."""

    lowest: int
    highest: int

    @property
    def bits(self) -> int:
        """The width, in bits, of the smallest signed integer type that holds the interval."""
        return max((end ^ (end >> end.bit_length())).bit_length() for end in self.ends) + 1

    @property
    def ends(self) -> tuple[int, int]:
        """The lowest and the highest integer."""
        return self.lowest, self.highest

    def contains(self, other: Interval) -> bool:
        """Whether the other interval lies inside this interval."""
        return self.lowest <= other.lowest and other.highest <= self.highest

    def hull(self, other: Interval) -> Interval:
        """The smallest interval that contains both intervals."""
        return Interval(min(self.lowest, other.lowest), max(self.highest, other.highest))

    def intersection(self, other: Interval) -> Interval:
        """The integers in both intervals; a single integer if the intervals are disjoint."""
        lowest = max(self.lowest, other.lowest)
        return Interval(lowest, max(lowest, min(self.highest, other.highest)))

    def plus(self, other: Interval) -> Interval:
        """The interval of sums."""
        return Interval(self.lowest + other.lowest, self.highest + other.highest)

    def negated(self) -> Interval:
        """The interval of negated integers."""
        return Interval(-self.highest, -self.lowest)

    def times(self, other: Interval) -> Interval:
        """The interval of products."""
        ends = [left * right for left in self.ends for right in other.ends]
        return Interval(min(ends), max(ends))

    @property
    def largest(self) -> int:
        """The largest absolute value."""
        return max(-self.lowest, self.highest, 0)


def of_type(dtype: DType) -> Interval:
    """The interval of the integers of a type."""
    return Interval(0, 1) if dtype == boolean else Interval(dtype.lowest, dtype.highest)


INT64 = of_type(i64)
EXACT_IN_FLOAT64 = Interval(-(2**53), 2**53)
EVERYTHING = Interval(-(2**4096), 2**4096)
"""The interval of integers about which nothing is known."""

_TRUTH = Interval(0, 1)

Indices = Mapping[str, tuple[Expression, Expression]]


@dataclass
class Ranges:
    """Interval analysis of expressions.

    Attributes:
        parameter: gives the range of a parameter.
        known: the ranges of the local numbers that are kept in memory.
        used: the parameters whose range has been used so far.
    """

    parameter: Callable[[str], Interval]
    known: Mapping[str, Interval]
    used: set[str] = field(default_factory=set)

    def iterations(self, indices: Indices) -> int:
        """Upper bound on the iterations of all enclosing loops together."""
        result = 1
        for lower, upper in indices.values():
            first, last = self.of(lower, indices)[0], self.of(upper, indices)[0]
            result *= max(last.highest - first.lowest + 1, 0)
        return result

    def of(self, expression: Expression, indices: Indices) -> tuple[Interval, Interval]:
        """The range of a Python integer, and the hull of the ranges of its subexpressions."""
        if not isinstance(expression, Operation):
            leaf = self._leaf(expression, indices)
            return leaf, leaf
        if expression.operator in COMPARISONS or expression.operator in LOGICAL:
            return _TRUTH, _TRUTH
        parts = [self.of(operand, indices) for operand in _numbers(expression)]
        result = inside = _computed(expression.operator, [value for value, _ in parts])
        for _, part in parts:
            inside = inside.hull(part)
        return result, inside

    def _leaf(self, expression: Expression, indices: Indices) -> Interval:
        match expression:
            case Constant(value=value):
                return Interval(int(value), int(value))
            case Parameter(name=name):
                self.used.add(name)
                return self.parameter(name)
            case Index(name=name):
                lower, upper = (self.of(end, indices)[0] for end in indices[name])
                return Interval(lower.lowest, max(lower.lowest, upper.highest))
            case Load():
                return self._loaded(expression, indices)
            case Cast(operand=operand):
                return self._numpy(operand, indices)
        raise TypeError(f"{type(expression).__name__} is not an expression node")

    def _loaded(self, load: Load, indices: Indices) -> Interval:
        if load.array in self.known:
            return self.known[load.array]
        if load.values is None:
            return of_type(load.type)
        lower, upper = (self.of(end, indices)[0] for end in load.values)
        return Interval(lower.lowest, max(lower.lowest, upper.highest - 1))

    def _numpy(self, expression: Expression, indices: Indices) -> Interval:
        """The range of a numpy scalar. Floats lie within 2**53 by the contract of ``@kernel``."""
        dtype = expression.dtype
        if dtype is None or dtype.is_float:
            return EXACT_IN_FLOAT64
        if isinstance(expression, Cast):
            exact = self._numpy(expression.operand, indices)
        elif isinstance(expression, Operation) and dtype != boolean:
            parts = [self._numpy(operand, indices) for operand in _numbers(expression)]
            exact = _computed(expression.operator, parts)
        else:
            exact = _TRUTH if dtype == boolean else self._leaf(expression, indices)
        representable = of_type(dtype)
        return exact if representable.contains(exact) else representable  # it wraps around


def _numbers(operation: Operation) -> tuple[Expression, ...]:
    """The operands that are numbers: those of a select without its condition."""
    is_select = operation.operator is Operator.SELECT
    return operation.operands[1:] if is_select else operation.operands


def _computed(operator: Operator, operands: list[Interval]) -> Interval:
    """The range of an operation; EVERYTHING if no rule is known."""
    function = _COMPUTED.get(operator)
    return EVERYTHING if function is None else function(*operands)


def _absolute(only: Interval) -> Interval:
    return Interval(max(only.lowest, -only.highest, 0), only.largest)


def _quotient(first: Interval, last: Interval) -> Interval:
    """Floor quotients, without division by 0 (the kernel gives 0 for it)."""
    if last.lowest > 0:
        ends = [dividend // divisor for dividend in first.ends for divisor in last.ends]
        return Interval(min(ends), max(ends))
    return Interval(-first.largest, first.largest)


def _remainder(first: Interval, last: Interval) -> Interval:
    if first.lowest >= 0 and last.lowest > first.highest:
        return first
    return Interval(min(last.lowest + 1, 0), max(last.highest - 1, 0))


def _bits(first: Interval, last: Interval) -> Interval:
    """All integers with as many bits as the wider operand."""
    limit = 1 << (max(first.bits, last.bits) - 1)
    return Interval(-limit if min(first.lowest, last.lowest) < 0 else 0, limit - 1)


def _common_bits(first: Interval, last: Interval) -> Interval:
    """Bitwise and: the result is at most any operand that is not negative."""
    limits = [operand.highest for operand in (first, last) if operand.lowest >= 0]
    return Interval(0, min(limits)) if limits else _bits(first, last)


def _shifted_right(first: Interval, last: Interval) -> Interval:
    """Right shifts move a number toward 0, or toward -1 if it is negative."""
    del last
    return Interval(min(first.lowest, 0), max(first.highest, -1))


_COMPUTED: Mapping[Operator, Callable[..., Interval]] = MappingProxyType(
    {
        Operator.ADD: Interval.plus,
        Operator.SUBTRACT: lambda first, last: first.plus(last.negated()),
        Operator.MULTIPLY: Interval.times,
        Operator.NEGATE: Interval.negated,
        Operator.ABSOLUTE: _absolute,
        Operator.FLOOR_DIVIDE: _quotient,
        Operator.MODULO: _remainder,
        Operator.MINIMUM: lambda first, last: Interval(*map(min, first.ends, last.ends)),
        Operator.MAXIMUM: lambda first, last: Interval(*map(max, first.ends, last.ends)),
        Operator.BIT_AND: _common_bits,
        Operator.BIT_OR: _bits,
        Operator.BIT_XOR: _bits,
        Operator.BIT_NOT: lambda only: Interval(~only.highest, ~only.lowest),
        Operator.SHIFT_RIGHT: _shifted_right,
        Operator.SELECT: Interval.hull,
    }
)
"""The range of each operation from those of its operands; a select has the hull of its branches."""
