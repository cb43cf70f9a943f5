"""Compute integers in fewer bits where the stored result is the same.

C promotes bytes to `int`. The low bits of a sum, a difference or a product depend on the low bits
of the operands only, and an operation that depends on all bits may be computed in fewer if ranges
prove that the operands fit (:mod:`polysched.ir.expr.value_ranges`). LLVM's InstCombine narrows by
demanded bits in the same way, but keeps `int` where it needs a range.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from polysched.ir.expr.dtypes import DType, NumberKind, boolean
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
from polysched.ir.expr.traversal import children, walk
from polysched.ir.expr.value_ranges import LoadRange, Range, is_within, value_range, wrapped

_MODULAR = frozenset(
    {
        Operator.ADD,
        Operator.SUBTRACT,
        Operator.MULTIPLY,
        Operator.NEGATE,
        Operator.BIT_AND,
        Operator.BIT_OR,
        Operator.BIT_XOR,
        Operator.BIT_NOT,
    }
)
"""Operators whose low bits depend on the low bits of the operands only."""
_EXACT = frozenset(
    {
        Operator.MINIMUM,
        Operator.MAXIMUM,
        Operator.ABSOLUTE,
        Operator.QUOTIENT,
        Operator.REMAINDER,
        Operator.FLOOR_DIVIDE,
        Operator.MODULO,
    }
)
"""Operators that need the values of their operands."""
_WITHOUT_BYTES = frozenset(
    {
        Operator.MULTIPLY,
        Operator.SHIFT_LEFT,
        Operator.SHIFT_RIGHT,
        Operator.QUOTIENT,
        Operator.REMAINDER,
        Operator.FLOOR_DIVIDE,
        Operator.MODULO,
    }
)
"""Operators that x86 lacks for bytes."""
_WIDTHS = (8, 16, 32)


class _TooWide(Exception):
    """A part of the expression needs more bits."""


def narrowed_value(
    value: Expression, target: DType, of_load: LoadRange, scalars: Set[str] = frozenset()
) -> Expression:
    """The value that is stored as ``target``, computed in the fewest bits that prove equal.

    Args:
        value: of type ``target``, or untyped.
        target: the element type of the array that it is stored in.
        of_load: ranges of loads.
        scalars: arguments without dimensions, which hold one value for the whole call.
    """
    if not _is_plain(target):
        return value
    widest = computed_bits(value)
    for bits in _WIDTHS:
        if bits >= widest:
            break
        if bits >= target.bits:
            try:
                narrow = _Narrow(bits, of_load, scalars).low_bits(value, target.bits)
            except _TooWide:
                continue
            return narrow if narrow.dtype == target else Cast(narrow, target)
    return value


def computed_bits(value: Expression) -> int:
    """The width of the widest integer that is computed or converted."""
    types = [value.dtype for value in _computed(value)]
    return max((dtype.bits for dtype in types if dtype is not None and dtype.is_integer), default=0)


def _computed(value: Expression) -> Iterator[Expression]:
    """Operations and their operands, without those of subscripts."""
    seen: set[int] = set()
    open_nodes = [value]
    while open_nodes:
        node = open_nodes.pop()
        if id(node) in seen or isinstance(node, Load):
            continue
        seen.add(id(node))
        if isinstance(node, Operation | Cast):
            yield node
            yield from children(node)
        open_nodes.extend(children(node))


def _is_plain(dtype: DType | None) -> bool:
    return dtype is not None and dtype.is_integer and not dtype.is_odd_width


@dataclass(frozen=True)
class _Narrow:
    """Rewrite an expression to integers of a few bits.

    Attributes:
        bits: of the integers.
        of_load: ranges of loads.
        scalars: arguments without dimensions.
    """

    bits: int
    of_load: LoadRange
    scalars: Set[str]

    @property
    def signed(self) -> DType:
        return DType(NumberKind.SIGNED, self.bits)

    @property
    def unsigned(self) -> DType:
        return DType(NumberKind.UNSIGNED, self.bits)

    def low_bits(self, node: Expression, demanded: int) -> Expression:
        """An integer of ``bits`` bits that equals ``node`` modulo 2**demanded."""
        if isinstance(node, Constant) and _is_whole(node):
            return _constant(int(node.value), self.signed)
        if not _is_plain(node.dtype):
            raise _TooWide
        if isinstance(node, Cast) and node.type.bits >= demanded and _is_plain(node.operand.dtype):
            return self.low_bits(node.operand, demanded)
        if self._is_uniform(node):
            return Cast(node, self.signed)
        if isinstance(node, Cast) and node.operand.dtype == boolean:
            return Cast(self._condition(node.operand), self.signed)
        assert node.dtype is not None
        if isinstance(node, Load | Cast) or node.dtype.bits < demanded:
            return self._leaf(node, node.dtype)
        if not isinstance(node, Operation):
            raise _TooWide
        if self.bits == 8 and node.operator in _WITHOUT_BYTES:
            raise _TooWide
        if node.operator in _MODULAR:
            return self._applied(node.operator, [self.low_bits(x, demanded) for x in node.operands])
        if node.operator is Operator.SELECT:
            condition, *sides = node.operands
            return self._applied(
                Operator.SELECT,
                [self._condition(condition), *(self.low_bits(side, demanded) for side in sides)],
            )
        shift = self._shift(node, demanded)
        return self._exactly(node) if shift is None else shift

    def _leaf(self, node: Expression, dtype: DType) -> Expression:
        """A load, or an operation that wraps around to fewer bits, which is narrowed by itself."""
        if isinstance(node, Cast) and not _is_plain(node.operand.dtype):
            raise _TooWide  # conversions of floats take wide lanes anyway
        narrow = narrowed_value(node, dtype, self.of_load, self.scalars)
        if dtype.bits > self.bits or computed_bits(narrow) > self.bits:
            raise _TooWide
        return narrow if dtype == self.signed else Cast(narrow, self.signed)

    def _applied(self, operator: Operator, operands: Sequence[Expression]) -> Operation:
        kind = operands[-1].dtype
        return Operation(operator, tuple(self._as(x, kind) for x in operands), kind)

    def _as(self, node: Expression, dtype: DType | None) -> Expression:
        """The same bits as another type of the same width."""
        if dtype is None or node.dtype in (dtype, boolean):
            return node
        if isinstance(node, Constant):
            return _constant(int(node.value), dtype)
        return Cast(node, dtype)

    def _range(self, node: Expression) -> Range:
        values = value_range(node, self.of_load)
        if values is None:
            raise _TooWide
        return values

    def _holding(self, nodes: Sequence[Expression]) -> DType:
        """The type of ``bits`` bits that holds the values of some expressions."""
        ranges = [self._range(node) for node in nodes]
        for dtype in (self.signed, self.unsigned):
            if all(is_within(values, dtype) for values in ranges):
                return dtype
        raise _TooWide

    def _exactly(self, node: Operation) -> Expression:
        """An operation that needs the values of its operands."""
        if node.operator not in _EXACT:
            raise _TooWide
        dtype = self._holding([*node.operands, node])
        operands = [self._as(self.low_bits(x, self.bits), dtype) for x in node.operands]
        return Operation(node.operator, tuple(operands), dtype)

    def _shift(self, node: Operation, demanded: int) -> Expression | None:
        """A shift by a literal, or a division by a power of two; None if the node is neither."""
        if len(node.operands) != 2 or not isinstance(node.operands[1], Constant):
            return None
        inner, amount = node.operands[0], int(node.operands[1].value)
        if node.operator in (Operator.FLOOR_DIVIDE, Operator.QUOTIENT):
            is_power = amount > 0 and amount & (amount - 1) == 0
            is_floor = node.operator is Operator.FLOOR_DIVIDE
            if not is_power or (not is_floor and self._range(inner)[0] < 0):
                return None
            amount = amount.bit_length() - 1
        elif node.operator is Operator.SHIFT_LEFT and 0 <= amount < self.bits:
            shifted = self.low_bits(inner, demanded)
            return self._applied(Operator.SHIFT_LEFT, [shifted, _constant(amount, self.signed)])
        elif node.operator is not Operator.SHIFT_RIGHT:
            return None
        if not 0 <= amount < self.bits:
            raise _TooWide
        if demanded + amount <= self.bits:
            # Whatever is shifted in from above is not demanded.
            dtype, needed = self.unsigned, demanded + amount
        else:
            dtype, needed = self._holding([inner]), self.bits
        operand = self._as(self.low_bits(inner, needed), dtype)
        return Operation(Operator.SHIFT_RIGHT, (operand, _constant(amount, dtype)), dtype)

    def _condition(self, node: Expression) -> Expression:
        """A condition, decided by integers of ``bits`` bits."""
        if self._is_uniform(node):
            return node
        if not isinstance(node, Operation):
            raise _TooWide
        if node.operator in LOGICAL:
            return Operation(node.operator, tuple(map(self._condition, node.operands)), boolean)
        if node.operator not in COMPARISONS or not _are_plain(node.operands):
            raise _TooWide
        left, right = node.operands
        if self._is_uniform(right) and not isinstance(right, Constant):
            right = self._clamped(right, self._range(left))
        elif self._is_uniform(left) and not isinstance(left, Constant):
            left = self._clamped(left, self._range(right))
        dtype = self._holding([left, right])
        sides = [self._as(self.low_bits(side, self.bits), dtype) for side in (left, right)]
        return Operation(node.operator, tuple(sides), node.dtype)

    def _is_uniform(self, node: Expression) -> bool:
        """Whether a value is the same in all iterations: of parameters and scalar arguments."""
        leaves = [leaf for leaf in walk(node) if isinstance(leaf, Index | Parameter | Load)]
        return bool(leaves) and all(
            isinstance(leaf, Parameter) or (isinstance(leaf, Load) and leaf.array in self.scalars)
            for leaf in leaves
        )

    def _clamped(self, node: Expression, other: Range) -> Expression:
        """A value that compares like ``node`` with all values of a range, and lies near it."""
        dtype = node.dtype
        assert dtype is not None
        if is_within(self._range(node), self.signed):
            return node
        low = _constant(max(dtype.lowest, other[0] - 1), dtype)
        high = _constant(min(dtype.highest, other[1] + 1), dtype)
        raised = Operation(Operator.MAXIMUM, (node, low), dtype)
        return Operation(Operator.MINIMUM, (raised, high), dtype)


def _constant(value: int, dtype: DType) -> Constant:
    """A literal of a type, which wraps around."""
    return Constant(wrapped(value, dtype), dtype)


def _are_plain(nodes: Sequence[Expression]) -> bool:
    return all(
        _is_whole(node) if isinstance(node, Constant) else _is_plain(node.dtype) for node in nodes
    )


def _is_whole(literal: Constant) -> bool:
    """Whether a literal is an integer: 0.1 < 0.5 must not be compared as 0 < 0."""
    if isinstance(literal.value, bool | float):
        return False
    return literal.dtype is None or _is_plain(literal.dtype)
