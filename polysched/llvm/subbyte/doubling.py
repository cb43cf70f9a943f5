"""Strategy that merges or spreads fields in lanes of twice the width at each step.

Two neighboring elements of b bits, each in a lane of C bits, become 2 b bits in a lane of 2 C bits.
The step repeats until the bits of a lane fill whole bytes. Then a shuffle of bytes closes the gaps.
The steps are those of the "sheep and goats" family (Warren, "Hacker's Delight", section 7-4).

One instruction merges small fields: ``vpmaddubsw`` multiplies unsigned by signed bytes, and
``vpmaddwd`` signed words, so fields and multipliers must not reach the sign bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from llvmlite import ir

from polysched.llvm.builder.intrinsics import declared
from polysched.llvm.subbyte.conversion import BYTE, Conversion, extended, masked, numbers, selected

WIDEST_LANE = 64


def group_width(conversion: Conversion) -> int | None:
    """The width of the lanes in which the elements fill whole bytes; None if there is none."""
    width = conversion.container
    while width <= WIDEST_LANE:
        group = width // conversion.container
        if group * conversion.bits % 8 == 0:
            return width if conversion.lanes % group == 0 else None
        width *= 2
    return None


def can_double(conversion: Conversion) -> bool:
    """Whether groups of elements fill whole bytes."""
    return group_width(conversion) is not None


Merge: TypeAlias = Callable[[ir.IRBuilder, Any, int], Any]
"""Merge pairs of lanes whose lowest ``field`` bits are used, and whose other bits are 0."""


def pack_doubling(builder: ir.IRBuilder, unpacked: Any, conversion: Conversion) -> Any:
    """Pack by merging neighboring fields, step by step."""
    return pack_pairwise(builder, unpacked, conversion, merge_shifted)


def pack_pairwise(
    builder: ir.IRBuilder, unpacked: Any, conversion: Conversion, merge: Merge
) -> Any:
    """Pack by merging neighboring fields with ``merge``, step by step."""
    widest = _group_width(conversion)
    value = masked(builder, unpacked, conversion)
    field = conversion.bits
    while value.type.element.width < widest:
        value = merge(builder, value, field)
        field *= 2
    return without_gaps(builder, value, field // 8)


def merge_shifted(builder: ir.IRBuilder, value: Any, field: int) -> Any:
    """Merge fields by a shift, two masks and an or."""
    width, count = 2 * value.type.element.width, value.type.count // 2
    value = builder.bitcast(value, ir.VectorType(ir.IntType(width), count))
    low = numbers(width, [(1 << field) - 1] * count)
    moved = builder.lshr(value, numbers(width, [width // 2 - field] * count))
    high = numbers(width, [((1 << field) - 1) << field] * count)
    return builder.or_(builder.and_(value, low), builder.and_(moved, high))


def unpack_doubling(builder: ir.IRBuilder, packed: Any, conversion: Conversion) -> Any:
    """Unpack by spreading groups of elements, step by step."""
    width = _group_width(conversion)
    field = width // conversion.container * conversion.bits
    value = with_gaps(builder, packed, field // 8, width // 8)
    while width > conversion.container:
        value = builder.bitcast(value, _lanes(conversion, width))
        low = _every(conversion, width, (1 << (field // 2)) - 1)
        moved = builder.shl(value, _every(conversion, width, (width - field) // 2))
        high = _every(conversion, width, ((1 << (field // 2)) - 1) << (width // 2))
        value = builder.or_(builder.and_(value, low), builder.and_(moved, high))
        width, field = width // 2, field // 2
    value = builder.bitcast(value, conversion.unpacked_type)
    return extended(builder, value, conversion)


def without_gaps(builder: ir.IRBuilder, value: Any, kept: int) -> Any:
    """Concatenate the lowest ``kept`` bytes of every lane."""
    size = value.type.element.width // 8
    count = value.type.count
    if value.type.element.width == 8 * kept:
        return builder.bitcast(value, ir.VectorType(BYTE, count * size))
    in_bytes = builder.bitcast(value, ir.VectorType(BYTE, count * size))
    return selected(
        builder, in_bytes, [lane * size + byte for lane in range(count) for byte in range(kept)]
    )


def with_gaps(builder: ir.IRBuilder, packed: Any, kept: int, size: int) -> Any:
    """Distribute bytes to lanes of ``size`` bytes: ``kept`` bytes each, the rest 0."""
    count = packed.type.count // kept
    return selected(
        builder,
        packed,
        [
            lane * kept + byte if byte < kept else None
            for lane in range(count)
            for byte in range(size)
        ],
    )


def _group_width(conversion: Conversion) -> int:
    width = group_width(conversion)
    assert width is not None
    return width


def _lanes(conversion: Conversion, width: int) -> Any:
    """The type of a vector of the unpacked size with lanes of ``width`` bits."""
    return ir.VectorType(ir.IntType(width), conversion.lanes * conversion.container // width)


def _every(conversion: Conversion, width: int, value: int) -> Any:
    return numbers(width, [value] * (conversion.lanes * conversion.container // width))


MULTIPLY_ADD_FEATURES = frozenset({"avx512bw"})
"""Features that multiply-add requires, for registers of any width."""

_MULTIPLY_ADD: Mapping[tuple[int, int], str] = MappingProxyType(
    {
        (8, 128): "llvm.x86.ssse3.pmadd.ub.sw.128",
        (8, 256): "llvm.x86.avx2.pmadd.ub.sw",
        (8, 512): "llvm.x86.avx512.pmaddubs.w.512",
        (16, 128): "llvm.x86.sse2.pmadd.wd",
        (16, 256): "llvm.x86.avx2.pmadd.wd",
        (16, 512): "llvm.x86.avx512.pmaddw.d.512",
    }
)
"""The intrinsics by the bits of a lane and the bits of the register."""

_SMALL_FIELD = MappingProxyType({8: 6, 16: 14})
"""The widest field whose multiplier is positive, by the bits of a lane."""


def can_multiply_add(conversion: Conversion) -> bool:
    """Whether the first step is a single instruction, and groups of elements fill whole bytes."""
    return (
        can_double(conversion)
        and conversion.bits <= _SMALL_FIELD.get(conversion.container, 0)
        and (conversion.container, conversion.lanes * conversion.container) in _MULTIPLY_ADD
    )


def pack_multiply_add(builder: ir.IRBuilder, unpacked: Any, conversion: Conversion) -> Any:
    """Pack by merging neighboring fields, with multiply-add while the fields are small enough."""
    return pack_pairwise(builder, unpacked, conversion, _merge_multiplied)


def _merge_multiplied(builder: ir.IRBuilder, value: Any, field: int) -> Any:
    width, count = value.type.element.width, value.type.count
    name = _MULTIPLY_ADD.get((width, width * count))
    if name is None or field > _SMALL_FIELD[width]:
        return merge_shifted(builder, value, field)
    wide = ir.VectorType(ir.IntType(2 * width), count // 2)
    function = declared(builder.module, name, ir.FunctionType(wide, [value.type] * 2))
    return builder.call(function, [value, numbers(width, [1, 1 << field] * (count // 2))])
