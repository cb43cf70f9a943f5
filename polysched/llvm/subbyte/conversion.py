"""Base of all strategies of packing and unpacking: source and target vectors, and constants.

In *unpacked* form, every element has a separate lane of 8, 16 or 32 bits. In *packed* form, the
elements follow each other without gaps in a vector of bytes, little-endian.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from llvmlite import ir

from polysched.errors import LoweringError
from polysched.llvm.builder.intrinsics import integers, shuffled

BYTE = ir.IntType(8)
_INT32 = ir.IntType(32)


@dataclass(frozen=True)
class Conversion:
    """Packing or unpacking of ``lanes`` integers of ``bits`` bits in lanes of ``container`` bits.

    Unpacking sign-extends signed elements. Packing keeps the lowest bits of every lane, like
    ``trunc``.
    """

    bits: int
    container: int
    lanes: int
    is_signed: bool = False

    def __post_init__(self) -> None:
        if self.container not in (8, 16, 32):
            raise LoweringError(
                f"lanes of {self.container} bits; expected a container of 8, 16 or 32"
            )
        if not 1 <= self.bits < self.container:
            raise LoweringError(
                f"elements of {self.bits} bits in lanes of {self.container}; expected at least 1 "
                "and fewer than the lane has"
            )
        if self.lanes < 1:
            raise LoweringError(f"a vector of {self.lanes} lanes; expected at least 1")

    @property
    def bytes(self) -> int:
        """Bytes of the packed vector; the last byte may have padding bits."""
        return -(-self.lanes * self.bits // 8)

    @property
    def unpacked_type(self) -> Any:
        """The LLVM type of the unpacked vector."""
        return ir.VectorType(ir.IntType(self.container), self.lanes)

    @property
    def packed_type(self) -> Any:
        """The LLVM type of the packed vector."""
        return ir.VectorType(BYTE, self.bytes)


class Direction(Enum):
    """Direction of a conversion: packing or unpacking."""

    PACK = "pack"
    UNPACK = "unpack"


Rewrite: TypeAlias = Callable[[ir.IRBuilder, Any, Conversion], Any]
"""Emit a strategy: from the unpacked vector to the packed vector, or the reverse.

Padding bits of the last packed byte are ignored, and written as 0.
"""


def numbers(width: int, values: Sequence[int]) -> Any:
    """A constant vector of integers of ``width`` bits, each reduced modulo 2**width."""
    mask = (1 << width) - 1
    return integers(width, tuple(value & mask for value in values))


def selected(
    builder: ir.IRBuilder, vector: Any, positions: Sequence[int | None], other: Any = None
) -> Any:
    """Select elements of a vector by position; positions beyond its end select from ``other``.

    Where the position is None, the result is undefined, or 0 if ``other`` is None.
    """
    other = ir.Constant(vector.type, None) if other is None else other
    indices = [vector.type.count if position is None else position for position in positions]
    return shuffled(builder, vector, other, indices)


def extended(builder: ir.IRBuilder, unpacked: Any, conversion: Conversion) -> Any:
    """Sign-extend every element, if the elements are signed.

    The bits above an element are 0 before, and stay 0 if the elements are unsigned. x86 has no
    shifts of byte lanes, so bytes are extended without shifts (Warren, "Hacker's Delight", section
    2-5).
    """
    if not conversion.is_signed:
        return unpacked
    width, count = conversion.container, conversion.lanes
    if width == 8:
        sign = numbers(8, [1 << (conversion.bits - 1)] * count)
        return builder.sub(builder.xor(unpacked, sign), sign)
    above = numbers(width, [width - conversion.bits] * count)
    return builder.ashr(builder.shl(unpacked, above), above)


def masked(builder: ir.IRBuilder, unpacked: Any, conversion: Conversion) -> Any:
    """Clear all but the lowest bits of every lane."""
    ones = (1 << conversion.bits) - 1
    return builder.and_(unpacked, numbers(conversion.container, [ones] * conversion.lanes))
