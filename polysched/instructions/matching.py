"""Match a statement with the statement that an instruction computes.

The match is structural, up to the order of the factors of a product and of the terms of a sum, and
up to five identities:

- A value ``x`` is the product ``x * 1``.
- ``x < 0 ? -x : x`` and ``a > b ? a - b : b - a`` are absolute values.
- Sums and products of integers wrap, so they have the same bits as those of unsigned integers.
- An operand may be a constant.
- If every value of type ``t`` is a value of the operand's type, an operand may be an array of type
  ``t``: its elements are converted first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TypeAlias

from polysched.instructions.declaration import Instruction
from polysched.ir.core.kernel import Access, Array
from polysched.ir.core.printing import format_access, format_expression
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Cast, Constant, Expression, Load, Operation
from polysched.ir.expr.operators import Operator

_ORDERS = frozenset({Operator.LESS, Operator.LESS_EQUAL})
_COMMUTATIVE = frozenset({Operator.ADD, Operator.MULTIPLY})

EXACT_IN_FLOATS = 2**8
"""Integers up to this magnitude are values of every floating-point type; bfloat16 has 8 bits."""

Binding: TypeAlias = Mapping[str, Load | Constant]
"""For each input array of an instruction, the load or constant that takes its place."""


@dataclass(frozen=True)
class Mismatch:
    """The reason why a statement is not the statement of an instruction."""

    reason: str


def match_statement(
    instruction: Instruction, target: Access, value: Expression, arrays: Mapping[str, Array]
) -> list[Binding] | Mismatch:
    """Return the ways to compute an assignment with an instruction, by the types of its arrays."""
    own = instruction.statement
    pattern = own.value
    name, given = instruction.name, arrays[target.array].dtype
    target_type = instruction.kernel.arrays[own.target.array].dtype
    alike = _as_type(value, target_type)
    shapes = list(_Unification(instruction, target).bindings(pattern, alike, {}))
    if not shapes:
        return Mismatch(
            f"the statement computes {format_access(target)} = {format_expression(value)}; {name} "
            f"computes {format_access(own.target)} = {format_expression(pattern)}"
        )
    if not _has_same_bits(given, target_type):
        return Mismatch(
            f"array '{target.array}' has elements of type {given}; {name} writes {target_type}"
        )
    reasons = [_type_mismatch(instruction, shape, arrays) for shape in shapes]
    typed = [shape for shape, reason in zip(shapes, reasons, strict=True) if reason is None]
    if typed:
        read = {load.array for load in typed[0].values() if isinstance(load, Load)}
        if target.array in read:
            return Mismatch(
                f"the statement reads array '{target.array}', which it writes, as an operand; "
                f"{name} reads all operands before it writes"
            )
        return list(typed)
    return Mismatch(next(reason for reason in reasons if reason is not None))


def fits(narrow: DType, wide: DType) -> bool:
    """Whether every value of an element type is a value of another."""
    if narrow == wide:
        return True
    if not (narrow.is_integer and wide.is_integer) or narrow.is_odd_width:
        return False
    return wide.lowest <= narrow.lowest and narrow.highest <= wide.highest


def _type_mismatch(
    instruction: Instruction, binding: Binding, arrays: Mapping[str, Array]
) -> str | None:
    for operand, given in binding.items():
        operand_type = instruction.kernel.arrays[operand].dtype
        if isinstance(given, Constant):
            if not _is_value_of(given, operand_type):
                return f"the factor {given.value} is not a value of type {operand_type}"
            continue
        array = arrays[given.array]
        if array.is_packed or not fits(array.dtype, operand_type):
            return (
                f"array '{given.array}' has elements of type {array.dtype}; operand '{operand}' "
                f"of {instruction.name} takes {operand_type}"
            )
    return None


def _is_value_of(constant: Constant, dtype: DType) -> bool:
    if constant.type == dtype:
        return True
    number = constant.value
    if not isinstance(number, int) and not (isfinite(number) and number.is_integer()):
        return False
    if dtype.is_float:
        return abs(number) <= EXACT_IN_FLOATS
    return dtype.is_integer and dtype.lowest <= number <= dtype.highest


def _has_same_bits(one: DType | None, other: DType) -> bool:
    """Whether types are equal, or integers of one width: their sums and products are alike."""
    if one is None or not (one.is_integer and other.is_integer):
        return one == other
    return one.bits == other.bits


def _as_type(value: Expression, dtype: DType) -> Expression:
    """Rewrite sums and products of integers in a type of the same width, which changes no bit."""
    if value.dtype == dtype or not _has_same_bits(value.dtype, dtype):
        return value
    match value:
        case Operation(operator=operator, operands=operands) if operator in _COMMUTATIVE:
            return Operation(
                operator, tuple(_as_type(operand, dtype) for operand in operands), dtype
            )
        case Cast(operand=operand) if _has_same_bits(operand.dtype, dtype):
            return _as_type(operand, dtype)
        case Cast(operand=operand) if operand.dtype is not None and operand.dtype.is_integer:
            return Cast(operand, dtype)
        case Constant(value=number) if dtype.lowest <= number <= dtype.highest:
            return Constant(number, dtype)
    return value


def _magnitude(value: Expression) -> Expression | None:
    """Return ``x`` if a value selects the absolute value of the integer ``x``, else None."""
    match value:
        case Operation(
            operator=Operator.SELECT,
            operands=(Operation(operands=(left, right)) as condition, first, second),
        ) if condition.operator in _ORDERS and left.dtype is not None and left.dtype.is_integer:
            zero = Constant(0, left.dtype)
            if right == zero and (first, second) == (-left, left):
                return left
            if left == zero and (first, second) == (right, -right):
                return right
            no_wrap = _is_widened(left) and _is_widened(right)
            if no_wrap and (first, second) == (right - left, left - right):
                return second
    return None


def _is_widened(value: Expression) -> bool:
    match value:
        case Cast(operand=Load(type=narrow), type=wide):
            return wide.is_signed and narrow.is_integer and narrow.bits < wide.bits
    return False


class _Unification:
    """Pairs the nodes of an instruction's value with the nodes of a statement's value."""

    def __init__(self, instruction: Instruction, target: Access) -> None:
        self.own = instruction.statement.target
        self.target = target

    def bindings(self, pattern: Expression, value: Expression, bound: Binding) -> Iterator[Binding]:
        """Yield ``bound`` with the loads of ``pattern`` added, for each way to pair the nodes."""
        match pattern:
            case Load(array=array) if array == self.own.array:
                if isinstance(value, Load) and self._is_target(value):
                    yield bound
            case Load(array=operand):
                yield from self._operand(operand, value, bound)
            case Cast(operand=Load(array=operand), type=dtype) if operand != self.own.array:
                # The conversion to the operand's type changes no value, so it may be left out.
                if isinstance(value, Cast) and value.type == dtype:
                    yield from self._operand(operand, value.operand, bound)
                elif isinstance(value, Constant) and value.type == dtype:
                    yield {**bound, operand: value}
            case Cast(operand=inner, type=dtype):
                if isinstance(value, Cast) and value.type == dtype:
                    yield from self.bindings(inner, value.operand, bound)
            case Operation():
                for parts in self._operands_of(pattern, value):
                    yield from self._parts(pattern.operands, parts, bound)
            case _ if pattern == value:
                yield bound

    def _operands_of(
        self, pattern: Operation, value: Expression
    ) -> Iterator[tuple[Expression, ...]]:
        """The operands of a value, in the orders in which it may be the operation ``pattern``."""
        operator, dtype = pattern.operator, pattern.type
        if isinstance(value, Operation) and (value.operator, value.type) == (operator, dtype):
            yield value.operands
            if operator in _COMMUTATIVE:
                yield value.operands[::-1]
        elif operator is Operator.ABSOLUTE:
            magnitude = _magnitude(value)
            if magnitude is not None and magnitude.dtype == dtype:
                yield (magnitude,)
        elif operator is Operator.MULTIPLY and value.dtype == dtype:
            unit = Constant(1, dtype)
            yield value, unit
            yield unit, value

    def _parts(
        self, patterns: tuple[Expression, ...], values: tuple[Expression, ...], bound: Binding
    ) -> Iterator[Binding]:
        if len(patterns) != len(values):
            return
        if not patterns:
            yield bound
            return
        for binding in self.bindings(patterns[0], values[0], bound):
            yield from self._parts(patterns[1:], values[1:], binding)

    def _operand(self, operand: str, value: Expression, bound: Binding) -> Iterator[Binding]:
        if (
            isinstance(value, Cast)
            and isinstance(value.operand, Load)
            and fits(value.operand.type, value.type)
        ):
            value = value.operand
        if isinstance(value, Constant) or (isinstance(value, Load) and not self._is_target(value)):
            yield {**bound, operand: value}

    def _is_target(self, load: Load) -> bool:
        return (load.array, load.subscripts) == (self.target.array, self.target.subscripts)
