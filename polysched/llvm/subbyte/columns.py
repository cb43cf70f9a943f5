"""The plain form: for every column of contributions a shuffle, and, shift right, shift left, or.

It is MLIR's ``BitCastRewriter``. It works for all widths and is what other forms are held to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from polysched.llvm.subbyte.contributions import Contribution, columns, contributions, period
from polysched.llvm.subbyte.conversion import BYTE, Conversion, extended, numbers, selected


def pack_columns(builder: ir.IRBuilder, unpacked: Any, conversion: Conversion) -> Any:
    """Every byte put together of parts of the elements that it holds."""
    table = _table(conversion.bits, 8, conversion.lanes, conversion.bytes)
    collected = _collected(builder, unpacked, conversion.container, table)
    return builder.trunc(collected, ir.VectorType(BYTE, conversion.bytes))


def unpack_columns(builder: ir.IRBuilder, packed: Any, conversion: Conversion) -> Any:
    """Every element put together of parts of the bytes that hold it."""
    table = _table(8, conversion.bits, conversion.bytes, conversion.lanes)
    collected = _collected(builder, packed, conversion.container, table)
    return extended(builder, collected, conversion)


def _table(
    source_bits: int, target_bits: int, sources: int, targets: int
) -> tuple[tuple[Contribution | None, ...], ...]:
    """The columns for so many targets; what lies behind the last source is left out."""
    cycle, cycle_targets = period(source_bits, target_bits)
    cycles = -(-targets // cycle_targets)
    rows = contributions(source_bits, target_bits, cycles * cycle)[:targets]
    return columns(tuple(tuple(one for one in row if one.source < sources) for row in rows))


def _collected(
    builder: ir.IRBuilder,
    source: Any,
    width: int,
    table: Sequence[Sequence[Contribution | None]],
) -> Any:
    """The targets, in lanes of ``width`` bits; the bits above them are 0."""
    result: Any = None
    for column in table:
        part = selected(builder, source, [one.source if one else None for one in column])
        if part.type.element.width < width:
            part = builder.zext(part, ir.VectorType(ir.IntType(width), len(column)))
        part = builder.and_(part, numbers(width, [_mask(one) for one in column]))
        part = builder.lshr(part, numbers(width, [one.low if one else 0 for one in column]))
        part = builder.shl(part, numbers(width, [one.shift if one else 0 for one in column]))
        result = part if result is None else builder.or_(result, part)
    return result


def _mask(part: Contribution | None) -> int:
    return 0 if part is None else (1 << part.high) - (1 << part.low)
