"""The generic strategy: a shuffle, and, shift right, shift left and or for every column.

It is MLIR's ``BitCastRewriter``. It works for all widths, and is the reference for the other
strategies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from polysched.llvm.subbyte.contributions import Contribution, columns, contributions, period
from polysched.llvm.subbyte.conversion import BYTE, Conversion, extended, numbers, selected


def pack_columns(builder: ir.IRBuilder, unpacked: Any, conversion: Conversion) -> Any:
    """Build every byte from parts of its elements."""
    table = _table(conversion.bits, 8, conversion.lanes, conversion.bytes)
    collected = _collected(builder, unpacked, conversion.container, table)
    return builder.trunc(collected, ir.VectorType(BYTE, conversion.bytes))


def unpack_columns(builder: ir.IRBuilder, packed: Any, conversion: Conversion) -> Any:
    """Build every element from parts of its bytes."""
    table = _table(8, conversion.bits, conversion.bytes, conversion.lanes)
    collected = _collected(builder, packed, conversion.container, table)
    return extended(builder, collected, conversion)


def _table(
    source_bits: int, target_bits: int, sources: int, targets: int
) -> tuple[tuple[Contribution | None, ...], ...]:
    """The columns of ``targets`` target elements, without bits beyond the last source."""
    cycle, cycle_targets = period(source_bits, target_bits)
    cycles = -(-targets // cycle_targets)
    rows = contributions(source_bits, target_bits, cycles * cycle)[:targets]
    return columns(tuple(tuple(part_ for part_ in row if part_.source < sources) for row in rows))


def _collected(
    builder: ir.IRBuilder, source: Any, width: int, table: Sequence[Sequence[Contribution | None]]
) -> Any:
    """Build the targets in lanes of ``width`` bits; the bits above a target are 0."""
    result: Any = None
    for column in table:
        part = selected(builder, source, [origin.source if origin else None for origin in column])
        if part.type.element.width < width:
            part = builder.zext(part, ir.VectorType(ir.IntType(width), len(column)))
        part = builder.and_(part, numbers(width, [_mask(origin) for origin in column]))
        part = builder.lshr(
            part, numbers(width, [origin.low if origin else 0 for origin in column])
        )
        part = builder.shl(
            part, numbers(width, [origin.shift if origin else 0 for origin in column])
        )
        result = part if result is None else builder.or_(result, part)
    return result


def _mask(part: Contribution | None) -> int:
    return 0 if part is None else (1 << part.high) - (1 << part.low)
