"""Ranges of integer values: interval arithmetic over expressions and over temporary arrays.

The intervals are those of Moore, *Interval Analysis* (1966). Integers wrap around, so an operation
whose exact interval leaves its type has the range of the whole type. Temporaries get the union of
all values that are written to them, as a least fixed point with widening (Cousot and Cousot, 1977).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType
from typing import TypeAlias

from polysched.ir.expr.dtypes import DType, NumberKind, i64
from polysched.ir.expr.expressions import Cast, Constant, Expression, Load, Operation
from polysched.ir.expr.operators import SHIFTS, Operator
from polysched.ir.expr.traversal import loads

Range: TypeAlias = tuple[int, int]
"""The least and the greatest value, both included."""

LoadRange: TypeAlias = Callable[[Load], Range | None]
"""The range of the values that a load reads; None if no write to the array is known."""

WIDEST = 64
"""Bits of the widest integer type; a shift by more shifts all bits out."""

ROUNDS = 4
"""Rounds of the fixed point after which a range that still grows becomes that of its type."""


def type_range(dtype: DType) -> Range:
    """The range of an integer type; of booleans 0 and 1."""
    return (0, 1) if dtype.kind is NumberKind.BOOLEAN else (dtype.lowest, dtype.highest)


def wrapped(value: int, dtype: DType) -> int:
    """An integer as a value of a type, modulo 2**bits."""
    return (value - dtype.lowest) % (1 << dtype.bits) + dtype.lowest


def is_within(inner: Range, dtype: DType) -> bool:
    """Whether an integer type holds all values of a range."""
    return dtype.lowest <= inner[0] and inner[1] <= dtype.highest


def value_range(value: Expression, of_load: LoadRange) -> Range | None:
    """The range of an integer or boolean expression; None if a load's range is None."""
    known: dict[int, Range | None] = {}

    def visit(node: Expression) -> Range | None:
        if id(node) not in known:
            known[id(node)] = _range(node, of_load, visit)
        return known[id(node)]

    return visit(value)


def _range(
    node: Expression, of_load: LoadRange, visit: Callable[[Expression], Range | None]
) -> Range | None:
    dtype = node.dtype
    if isinstance(node, Constant):
        if isinstance(node.value, float):
            return type_range(i64)
        number = int(node.value) if dtype is None else wrapped(int(node.value), dtype)
        return number, number
    if isinstance(node, Load):
        return of_load(node)
    if dtype is None:
        dtype = i64  # operations on literals alone, which have no type
    whole = type_range(dtype)
    if isinstance(node, Cast):
        source = node.operand.dtype
        if source is not None and source.is_float:
            return whole
        return _wrapped(visit(node.operand), whole)
    if not isinstance(node, Operation):
        return whole
    if dtype.kind is NumberKind.BOOLEAN and node.operator is not Operator.SELECT:
        return whole
    taken = node.operands[1:] if node.operator is Operator.SELECT else node.operands
    operands = []
    for operand in taken:
        range_ = visit(operand)
        if range_ is None:
            return None
        operands.append(range_)
    exact = _exact_range(node.operator, operands)
    return whole if exact is None else _wrapped(exact, whole)


def _wrapped(inner: Range | None, whole: Range) -> Range | None:
    """A range as the values of a type, which wrap around beyond its ends."""
    if inner is None or (whole[0] <= inner[0] and inner[1] <= whole[1]):
        return inner
    return whole


def _exact_range(operator: Operator, operands: Sequence[Range]) -> Range | None:
    """The range of an operation on unbounded integers; None if unknown."""
    if operator in _BY_RANGES:
        return _BY_RANGES[operator](operands[0], operands[-1])
    least, most = operands[-1]
    if operator not in _BY_LITERAL or least != most or not 0 < least < 1 << 32:
        return None
    if operator in SHIFTS and least >= WIDEST:
        return None
    return _BY_LITERAL[operator](*operands[0], least)


def _product(a: Range, b: Range) -> Range:
    ends = [left * right for left in a for right in b]
    return min(ends), max(ends)


def _absolute(a: Range, _: Range) -> Range:
    ends = sorted(map(abs, a))
    return (0 if a[0] <= 0 <= a[1] else ends[0]), ends[1]


def _and(a: Range, b: Range) -> Range | None:
    nonnegative = [end for start, end in (a, b) if start >= 0]
    return (0, min(nonnegative)) if nonnegative else None


def _or(a: Range, b: Range) -> Range | None:
    if a[0] < 0 or b[0] < 0:
        return None
    return 0, (1 << max(a[1], b[1]).bit_length()) - 1


def _union(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), max(a[1], b[1])


_BY_RANGES: Mapping[Operator, Callable[[Range, Range], Range | None]] = MappingProxyType(
    {
        Operator.ADD: lambda a, b: (a[0] + b[0], a[1] + b[1]),
        Operator.SUBTRACT: lambda a, b: (a[0] - b[1], a[1] - b[0]),
        Operator.MULTIPLY: _product,
        Operator.NEGATE: lambda a, _: (-a[1], -a[0]),
        Operator.BIT_NOT: lambda a, _: (~a[1], ~a[0]),
        Operator.ABSOLUTE: _absolute,
        Operator.MINIMUM: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
        Operator.MAXIMUM: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
        Operator.SELECT: _union,
        Operator.BIT_AND: _and,
        Operator.BIT_OR: _or,
        Operator.BIT_XOR: _or,
    }
)
"""Of both operands; of the only one twice."""


def _quotient(low: int, high: int, divisor: int) -> Range:
    return _toward_zero(low, divisor), _toward_zero(high, divisor)


def _toward_zero(value: int, divisor: int) -> int:
    return value // divisor if value >= 0 else -(-value // divisor)


_BY_LITERAL: Mapping[Operator, Callable[[int, int, int], Range]] = MappingProxyType(
    {
        Operator.SHIFT_RIGHT: lambda low, high, by: (low >> by, high >> by),
        Operator.SHIFT_LEFT: lambda low, high, by: (low << by, high << by),
        Operator.FLOOR_DIVIDE: lambda low, high, by: (low // by, high // by),
        Operator.QUOTIENT: _quotient,
        Operator.MODULO: lambda low, high, by: (0, by - 1),
        Operator.REMAINDER: lambda low, high, by: (
            0 if low >= 0 else 1 - by,
            0 if high <= 0 else by - 1,
        ),
    }
)
"""Of the ends of the first operand and a positive literal."""


@dataclass(frozen=True)
class Write:
    """An assignment of a program.

    Attributes:
        times: how often it writes one element at most, between its last undefined content and its
            next; None if unknown.
    """

    array: str
    subscripts: tuple[Expression, ...]
    value: Expression
    times: int | None = None

    @property
    def increment(self) -> Expression | None:
        """The term of a sum that is stored where it was read; None for other values."""
        value = self.value
        if not isinstance(value, Operation) or value.operator is not Operator.ADD:
            return None
        for before, term in (value.operands, value.operands[::-1]):
            if isinstance(before, Load) and before.array == self.array:
                is_same = before.subscripts == self.subscripts
                others = {load.array for load in loads(term)}
                return term if is_same and self.array not in others else None
        return None


def temporary_ranges(types: Mapping[str, DType], writes: Iterable[Write]) -> dict[str, Range]:
    """The ranges of the values of temporary arrays.

    A sum of a known number of terms has the range of its start plus that of all terms.

    Args:
        types: of the temporaries with integer elements.
        writes: all assignments of a program.
    """
    by_array: dict[str, list[Write]] = {}
    for write in writes:
        if write.array in types:
            by_array.setdefault(write.array, []).append(write)
    known: dict[str, Range] = {}

    def of_load(load: Load) -> Range | None:
        return known.get(load.array) if load.array in types else type_range(load.type)

    for number in count():
        is_stable = True
        for array, own in by_array.items():
            whole, old = type_range(types[array]), known.get(array)
            written = _wrapped(_written_range(own, of_load), whole)
            if written is None or (
                old is not None and old[0] <= written[0] and written[1] <= old[1]
            ):
                continue
            is_stable = False
            joined = written if old is None else _union(old, written)
            known[array] = joined if number < ROUNDS else whole
        if is_stable:
            break
    return known


def _written_range(writes: Sequence[Write], of_load: LoadRange) -> Range | None:
    """The range of the values written to an array; None if no write to it is known."""
    joined: Range | None = None
    below = above = 0
    for write in writes:
        term = None if write.times is None else write.increment
        own = value_range(write.value if term is None else term, of_load)
        if own is None:
            continue
        if term is None:
            joined = own if joined is None else _union(joined, own)
        else:
            assert write.times is not None
            below += write.times * min(0, own[0])
            above += write.times * max(0, own[1])
    return None if joined is None else (joined[0] + below, joined[1] + above)
