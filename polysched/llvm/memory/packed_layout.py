"""The layout of packed arrays: strides in bits, and bit positions of elements in their bytes."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from llvmlite import ir

from polysched.ir.core.kernel import Array
from polysched.ir.core.packing import Rows
from polysched.llvm.values.expressions import INDEX
from polysched.vector.classify import row_major


def bit_strides(
    builder: ir.IRBuilder,
    array: Array,
    extents: tuple[Any, ...],
    multiply: Callable[[Any, Any], Any],
) -> tuple[Any, ...]:
    """Strides of each dimension in bits, each a literal or an i64."""
    bits = array.dtype.bits
    if array.rows is Rows.CONTIGUOUS:
        return tuple(multiply(stride, bits) for stride in row_major(extents, 1, multiply))
    row = multiply(extents[-1], bits)
    if isinstance(row, int):
        pitch: Any = -(-row // 8) * 8
    else:
        pitch = builder.and_(builder.add(row, INDEX(7)), INDEX(-8))
    rows = row_major(extents[:-1], 1, multiply)
    return (*(multiply(stride, pitch) for stride in rows), bits)


def coarsest_phase(array: Array) -> int:
    """The largest number that divides the bit positions of all elements in their bytes; 4 for i4
    and i12.

    Rows either begin at a byte, or follow the previous row without a gap.
    """
    return gcd(array.dtype.bits, 8)


def most_bytes(array: Array) -> int:
    """The largest number of bytes that an element touches, at any bit position."""
    return -(-(8 - coarsest_phase(array) + array.dtype.bits) // 8)
