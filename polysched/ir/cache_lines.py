"""Which elements of a box of an array begin a cache line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

LINE_BYTES = 64
"""Bytes of a cache line: on all 64-bit x86 processors, and most others."""


def line_count(extents: tuple[int, ...], element_bytes: int) -> int:
    """The cache lines of a box, if each of its rows begins with one."""
    return prod(map(len, _ranges(extents, element_bytes)))


def line_offsets(extents: tuple[int, ...], element_bytes: int) -> Iterator[tuple[int, ...]]:
    """The position in a box of the first element of each of its lines, row by row."""
    return product(*_ranges(extents, element_bytes))


def _ranges(extents: tuple[int, ...], element_bytes: int) -> tuple[range, ...]:
    if not extents:
        return ()
    *outer, last = extents
    return (*map(range, outer), range(0, last, max(1, LINE_BYTES // element_bytes)))
