"""Where each bit comes from when one sequence of elements is read as elements of another width.

Bits are numbered from the least significant one of element 0 upwards (little-endian), as LLVM's
``bitcast`` of vectors does on a little-endian machine. The tables are those of MLIR's
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
    """Bits ``[low, high)`` of a source element, which stand in the target from ``shift`` on."""

    source: int
    low: int
    high: int
    shift: int

    def __str__(self) -> str:
        return f"{{ {self.source}: b@[{self.low}..{self.high}) lshl: {self.shift} }}"


Contributions: TypeAlias = tuple[tuple[Contribution, ...], ...]
"""For every target element what it is made of, from its lowest bits upwards."""


def period(source_bits: int, target_bits: int) -> tuple[int, int]:
    """The smallest counts of source and target elements with equal total bits, (8, 5) for 5 and 8.

    Raises:
        LoweringError: a width is not from 1 to 64.
    """
    for width in (source_bits, target_bits):
        if not 1 <= width <= WIDEST:
            raise LoweringError(f"elements of {width} bits; expected a width from 1 to {WIDEST}")
    common = gcd(source_bits, target_bits)
    return target_bits // common, source_bits // common


def contributions(
    source_bits: int, target_bits: int, source_count: int | None = None
) -> Contributions:
    """What each target element is made of, when so many source elements are read as targets.

    Args:
        source_bits, target_bits: the widths, from 1 to 64.
        source_count: how many source elements; by default one :func:`period` of them.

    Raises:
        LoweringError: a width out of range, a negative count, or a total that does not make whole
            target elements.
    """
    count, _ = period(source_bits, target_bits)
    count = count if source_count is None else source_count
    total = count * source_bits
    if count < 0 or total % target_bits:
        raise LoweringError(
            f"{count} elements of {source_bits} bits are {total} bits, which are no elements of "
            f"{target_bits} bits; expected equal totals, {count} a multiple of "
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


def format_contributions(table: Contributions) -> str:
    """A line for each target element: ``{ 0: b@[0..5) lshl: 0 }{ 1: b@[0..3) lshl: 5 }``."""
    return "\n".join("".join(map(str, parts)) for parts in table)


def columns(table: Contributions) -> tuple[tuple[Contribution | None, ...], ...]:
    """The table by columns: of every target the first contribution, of every target the second.

    A target that has fewer contributions than another has None in the columns after its last.
    """
    height = max((len(parts) for parts in table), default=0)
    return tuple(
        tuple(parts[column] if column < len(parts) else None for parts in table)
        for column in range(height)
    )
