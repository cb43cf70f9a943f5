"""Cache lines of a box of array elements."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

LINE_BYTES = 64
"""Size of a cache line on all 64-bit x86 processors, and most others."""


def line_count(extents: tuple[int, ...], element_bytes: int) -> int:
    """The number of cache lines of a box, if each row is aligned to a cache line."""
    return prod(map(len, _ranges(extents, element_bytes)))


def line_offsets(extents: tuple[int, ...], element_bytes: int) -> Iterator[tuple[int, ...]]:
    """The position of the first element of each cache line in a box, row by row."""
    return product(*_ranges(extents, element_bytes))


def _ranges(extents: tuple[int, ...], element_bytes: int) -> tuple[range, ...]:
    if not extents:
        return ()
    *outer, last = extents
    return (*map(range, outer), range(0, last, max(1, LINE_BYTES // element_bytes)))
