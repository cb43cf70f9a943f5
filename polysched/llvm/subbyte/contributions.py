"""Origin of each bit when a sequence of elements is reinterpreted with another element width.

Bits are numbered upward from the least significant bit of element 0 (little-endian), as in LLVM's
``bitcast`` of vectors on a little-endian machine. The tables are those of MLIR's
``BitCastBitsEnumerator`` (mlir/lib/Dialect/Vector/Transforms/VectorEmulateNarrowType.cpp).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd
from typing import TypeAlias

from polysched.errors import LoweringError

WIDEST = 64
"""The widest element, in bits."""


@dataclass(frozen=True)
class Contribution:
    """Bits ``[low, high)`` of a source element, which go to bit ``shift`` of the target and up."""

    source: int
    low: int
    high: int
    shift: int

    def __str__(self) -> str:
        return f"{{ {self.source}: b@[{self.low}..{self.high}) lshl: {self.shift} }}"


Contributions: TypeAlias = tuple[tuple[Contribution, ...], ...]
"""For every target element, its contributions from the lowest bits upward."""


def period(source_bits: int, target_bits: int) -> tuple[int, int]:
    """The least counts of source and target elements with equal total bits: (8, 5) for 5 and 8."""
    for width in (source_bits, target_bits):
        if not 1 <= width <= WIDEST:
            raise LoweringError(f"elements of {width} bits; expected a width from 1 to {WIDEST}")
    common = gcd(source_bits, target_bits)
    return target_bits // common, source_bits // common


def contributions(
    source_bits: int, target_bits: int, source_count: int | None = None
) -> Contributions:
    """The contributions of a sequence of source elements to each target element.

    Args:
        source_bits, target_bits: the widths, from 1 to 64.
        source_count: the number of source elements; by default, one :func:`period`.
    """
    count, _ = period(source_bits, target_bits)
    count = count if source_count is None else source_count
    total = count * source_bits
    if count < 0 or total % target_bits:
        raise LoweringError(
            f"{count} elements of {source_bits} bits are {total} bits, which are not "
            f"whole elements of {target_bits} bits; expected equal totals, {count} a multiple of "
            f"{period(source_bits, target_bits)[0]}"
        )
    return tuple(
        tuple(_parts(target * target_bits, (target + 1) * target_bits, source_bits))
        for target in range(total // target_bits)
    )


def _parts(begin: int, end: int, source_bits: int) -> Iterable[Contribution]:
    """The contributions to the bits from ``begin`` to ``end`` of the whole sequence."""
    at = begin
    while at < end:
        source, low = divmod(at, source_bits)
        high = min(source_bits, low + end - at)
        yield Contribution(source, low, high, at - begin)
        at += high - low


def columns(table: Contributions) -> tuple[tuple[Contribution | None, ...], ...]:
    """Transpose a table: column k has the k-th contribution of every target.

    A target with fewer contributions has None in the remaining columns.
    """
    height = max((len(parts) for parts in table), default=0)
    return tuple(
        tuple(parts[column] if column < len(parts) else None for parts in table)
        for column in range(height)
    )
