"""Where the elements of a packed array lie: strides and offsets in bits, and bytes where possible.

Of a packed array :class:`polysched.codegen.memory.Storage` has its strides in bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

from llvmlite import ir

from polysched.codegen.memory import Offset, Storage, row_major
from polysched.codegen.values import INDEX
from polysched.ir.core.kernel import Array
from polysched.ir.core.packing import Rows
from polysched.ir.expr.dtypes import u8
from polysched.ir.expr.linear import LinearForm


@dataclass(frozen=True, eq=False)
class Place:
    """An offset whose phase is known: a whole number of bytes, and so many bits more.

    ``storage`` is the array seen as bytes, for which ``offset`` counts.
    """

    storage: Storage
    offset: Offset
    phase: int


def bit_strides(
    builder: ir.IRBuilder,
    array: Array,
    extents: tuple[Any, ...],
    multiply: Callable[[Any, Any], Any],
) -> tuple[Any, ...]:
    """Bits from one index to the next, for each dimension a literal or an i64."""
    bits = array.dtype.bits
    if array.rows is Rows.CONTIGUOUS:
        return tuple(multiply(stride, bits) for stride in row_major(extents, multiply))
    row = multiply(extents[-1], bits)
    if isinstance(row, int):
        pitch: Any = -(-row // 8) * 8
    else:
        pitch = builder.and_(builder.add(row, INDEX(7)), INDEX(-8))
    rows = row_major(extents[:-1], multiply)
    return (*(multiply(stride, pitch) for stride in rows), bits)


def coarsest_phase(array: Array) -> int:
    """The number that divides the bits at which any element begins in its byte: 4 for i4 and i12.

    Rows begin at bytes, or as many elements behind the first one as there are before them.
    """
    return gcd(array.dtype.bits, 8)


def most_bytes(array: Array) -> int:
    """How many bytes an element may touch, wherever it begins."""
    return -(-(8 - coarsest_phase(array) + array.dtype.bits) // 8)


def known_place(builder: ir.IRBuilder, storage: Storage, offset: Offset) -> Place | None:
    """An offset in bits as a place in bytes; None if its phase depends on variables."""
    literal = offset.literal
    if any(coefficient % 8 for _, coefficient in literal.terms):
        return None
    if offset.scaled and storage.array.rows is not Rows.PADDED:
        return None
    whole, phase = divmod(literal.constant, 8)
    terms = tuple((atom, coefficient // 8) for atom, coefficient in literal.terms)
    array = replace(storage.array, dtype=u8, rows=None)
    strides = tuple(_in_bytes(builder, stride) for stride in storage.strides[:-1])
    in_bytes = replace(storage, array=array, strides=(*strides, 1))
    return Place(in_bytes, Offset(LinearForm(terms, whole), offset.scaled, None), phase)


def _in_bytes(builder: ir.IRBuilder, stride: Any) -> Any:
    return stride // 8 if isinstance(stride, int) else builder.ashr(stride, INDEX(3))
