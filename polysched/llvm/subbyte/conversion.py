"""What all strategies of packing and unpacking share: the vectors at both ends, and constants.

*Unpacked*, every element has a lane of its own, of 8, 16 or 32 bits. *Packed*, the elements
follow each other without gaps in a vector of bytes, little-endian.
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
    """A vector of ``lanes`` integers of ``bits`` bits, unpacked in lanes of ``container`` bits.

    Unpacking extends the sign if the elements are signed. Packing takes the lowest bits of every
    lane, as ``trunc`` does.

    Raises:
        LoweringError: a width or count that makes no sense.
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
        """Bytes of the packed vector, the last one perhaps with bits that are no element's."""
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
    """Which way bits are moved."""

    PACK = "pack"
    UNPACK = "unpack"


Rewrite: TypeAlias = Callable[[ir.IRBuilder, Any, Conversion], Any]
"""Emits one strategy: from the unpacked vector to the packed one, or the other way round.

Bits of the last packed byte that belong to no element are ignored, and written as 0.
"""


def numbers(width: int, values: Sequence[int]) -> Any:
    """A constant vector of integers of ``width`` bits, each taken modulo 2**width."""
    mask = (1 << width) - 1
    return integers(width, tuple(one & mask for one in values))


def selected(
    builder: ir.IRBuilder, vector: Any, positions: Sequence[int | None], other: Any = None
) -> Any:
    """Elements of a vector, by position; positions behind its end count into ``other``.

    Where the position is None anything may come; a zero where ``other`` is not given.
    """
    other = ir.Constant(vector.type, None) if other is None else other
    indices = [vector.type.count if one is None else one for one in positions]
    return shuffled(builder, vector, other, indices)


def extended(builder: ir.IRBuilder, unpacked: Any, conversion: Conversion) -> Any:
    """The vector with the sign of every element extended, if they are signed.

    The bits above an element are 0 before, and stay so if they are not. Lanes of bytes cannot be
    shifted on x86: there, as Warren does it ("Hacker's Delight", section 2-5).
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
    """The lowest bits of every lane, the others 0."""
    ones = (1 << conversion.bits) - 1
    return builder.and_(unpacked, numbers(conversion.container, [ones] * conversion.lanes))
