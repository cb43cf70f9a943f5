"""The lanes of a vector statement in LLVM IR."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from llvmlite import ir

from polysched.llvm.builder.intrinsics import (
    all_lanes,
    integers,
    intrinsic,
    lane_numbers,
    mask_of,
    shuffled,
)
from polysched.llvm.values.expressions import INDEX, Value, splat, widened
from polysched.vector import values as vector

NO_LANE = 127
"""A number above all lane numbers: a vector has at most 64 lanes."""


@dataclass(frozen=True, eq=False)
class Mask:
    """The lanes of a vector statement.

    Attributes:
        bits: LLVM's mask of the active lanes; None if all lanes are active.
        lanes: the active lanes, if they are literal and not all lanes; else None.
        first: the number of active lanes as an i8, if a prefix of the lanes is active; else None.
    """

    count: int
    bits: ir.Value | None = None
    lanes: tuple[int, ...] | None = None
    first: ir.Value | None = None

    @property
    def all_bits(self) -> ir.Value:
        """The mask; all bits are set if all lanes are active."""
        return all_lanes(self.count) if self.bits is None else self.bits

    @property
    def is_literal_prefix(self) -> bool:
        """Whether the active lanes are literal, and the first ones."""
        return self.lanes is not None and self.lanes == tuple(range(len(self.lanes)))

    def of_elements(self, builder: ir.IRBuilder, users: Sequence[Collection[int]]) -> Mask:
        """The mask of the elements that an active lane uses.

        Args:
            users: for each element of a vector, the lanes that use it: at most one lane if data
                decide which lanes are active. If a prefix of the lanes is active, a lane also uses
                the elements between its element and the element of the previous lane.
        """
        if self.bits is not None and self.lanes is None and self.first is None:
            used_by = [next(iter(lanes), self.count) for lanes in users]
            off = ir.Constant(self.bits.type, None)
            return Mask(len(users), shuffled(builder, self.bits, off, used_by))
        if self.first is None:
            active = range(self.count) if self.lanes is None else self.lanes
            used = [at for at, lanes in enumerate(users) if any(lane in active for lane in lanes)]
            return (
                Mask(len(users)) if len(used) == len(users) else only_lanes(len(users), tuple(used))
            )
        numbers = [min(lanes, default=NO_LANE) for lanes in users]
        limit = splat(builder, self.first, len(users))
        bits = builder.icmp_signed("<", integers(8, tuple(numbers)), limit)
        first = _number_of(builder, bits) if numbers == sorted(numbers) else None
        return Mask(len(users), bits, first=first)

    def reversed(self, builder: ir.IRBuilder) -> Mask:
        """The lanes in the opposite order."""
        if self.lanes is not None:
            return only_lanes(self.count, tuple(self.count - 1 - lane for lane in self.lanes[::-1]))
        if self.bits is None:
            return self
        return Mask(self.count, reverse(builder, self.bits))


ValueOf: TypeAlias = Callable[[vector.Value, Mask | None], Value]
"""Emit a value in the lanes of a statement."""


def emit_mask(builder: ir.IRBuilder, lanes: vector.Lanes, value_of: ValueOf) -> Mask:
    """Emit the mask of the active lanes."""
    count, active = lanes.count, lanes.active
    if isinstance(active, vector.Predicate):
        within = _mask(builder, count, active.within, value_of)
        condition = value_of(active.condition, within)
        holds = widened(builder, condition, count)
        bits = holds if within.bits is None else builder.and_(within.bits, holds)
        return Mask(count, bits)
    return _mask(builder, count, active, value_of)


def _mask(
    builder: ir.IRBuilder,
    count: int,
    active: vector.All | vector.Only | vector.Range,
    value_of: ValueOf,
) -> Mask:
    match active:
        case vector.All():
            return Mask(count)
        case vector.Only(lanes=lanes):
            return only_lanes(count, lanes)
        case vector.Range():
            if active.lower is None and active.step == 1:
                return first_lanes(builder, count, value_of(active.upper, None).ir)
            return Mask(count, _range(builder, count, active, value_of))


def only_lanes(count: int, lanes: tuple[int, ...]) -> Mask:
    """The mask of literal lanes."""
    return Mask(count, mask_of(lane in lanes for lane in range(count)), lanes)


def first_lanes(builder: ir.IRBuilder, count: int, number: ir.Value) -> Mask:
    """The mask of the first ``number`` lanes; numbers below 0 and above ``count`` are allowed.

    The lane numbers are bytes, so that the comparison takes one instruction instead of one for
    every 8 lanes.
    """
    number = intrinsic(builder, "smax", [number, INDEX(0)])
    number = intrinsic(builder, "smin", [number, INDEX(count)])
    first = builder.trunc(number, ir.IntType(8))
    bits = builder.icmp_signed("<", integers(8, tuple(range(count))), splat(builder, first, count))
    return Mask(count, bits, first=first)


def _number_of(builder: ir.IRBuilder, bits: ir.Value) -> ir.Value:
    """The number of active lanes, as an i8."""
    count, byte = bits.type.count, ir.IntType(8)
    number = intrinsic(builder, "ctpop", [builder.bitcast(bits, ir.IntType(count))])
    if count == 8:
        return number
    return builder.trunc(number, byte) if count > 8 else builder.zext(number, byte)


def _range(builder: ir.IRBuilder, count: int, active: vector.Range, value_of: ValueOf) -> ir.Value:
    numbers = lane_numbers(count)
    low = INDEX(0) if active.lower is None else value_of(active.lower, None).ir
    lower = splat(builder, low, count)
    upper = splat(builder, value_of(active.upper, None).ir, count)
    mask = builder.icmp_signed("<", numbers, upper)
    if active.lower is not None:
        mask = builder.and_(mask, builder.icmp_signed(">=", numbers, lower))
    if active.step != 1:
        step = splat(builder, INDEX(active.step), count)
        distance = builder.sub(numbers, lower)
        rest = builder.srem(distance, step)
        on_step = builder.icmp_signed("==", rest, splat(builder, INDEX(0), count))
        mask = builder.and_(mask, on_step)
    return mask


def reverse(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """A vector with its lanes in the opposite order."""
    return shuffled(builder, value, value, range(value.type.count - 1, -1, -1))


def lane_offsets(
    builder: ir.IRBuilder,
    subscripts: Sequence[vector.Value],
    strides: Sequence[ir.Value | int],
    lanes: Mask,
    value_of: ValueOf,
) -> ir.Value:
    """The offset of each lane's element from the start of its array, in the units of strides."""
    count = lanes.count
    offset = splat(builder, INDEX(0), count)
    for subscript, stride in zip(subscripts, strides, strict=True):
        value = widened(builder, value_of(subscript, lanes), count)
        factor = INDEX(stride) if isinstance(stride, int) else stride
        offset = builder.add(offset, builder.mul(value, splat(builder, factor, count)))
    return offset
