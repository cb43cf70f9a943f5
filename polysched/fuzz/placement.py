"""Guarded arguments: arrays at arbitrary alignments, surrounded by bytes that must not change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysched.ir.core.strides import elements_spanned
from polysched.ir.semantics.memory import AnyArray

GUARD = 256
"""Least number of guard bytes before and after every array."""

LINE = 64
"""Bytes of a cache line and of the longest vector."""

GUARD_BYTE = 0x5A


@dataclass(frozen=True, eq=False)
class Place:
    """Array inside of guarded memory."""

    memory: NDArray[np.uint8]
    array: AnyArray

    @property
    def start(self) -> int:
        """The byte offset of the first element in the memory."""
        return int(self.array.ctypes.data - self.memory.ctypes.data)

    def changed_outside(self) -> int:
        """Count the changed guard bytes, around the array and in the gaps between its elements."""
        outside = self.memory.copy()
        shape = (*self.array.shape, self.array.itemsize)
        steps = (*self.array.strides, 1)
        own: NDArray[Any] = np.ndarray(shape, np.uint8, outside, self.start, steps)
        own.fill(GUARD_BYTE)
        return int(np.count_nonzero(outside != GUARD_BYTE))


def placed(array: AnyArray, strides: tuple[int, ...] | None = None, *, offset: int = 0) -> Place:
    """Copy an array into guarded memory.

    Args:
        strides: in elements; None makes a contiguous copy.
        offset: the distance of the first element from a multiple of 64 bytes, in elements.
    """
    spanned = array.size if strides is None else elements_spanned(array.shape, strides)
    before = GUARD + LINE + offset * array.itemsize
    memory = np.full(before + spanned * array.itemsize + GUARD, GUARD_BYTE, np.uint8)
    start = before - (memory.ctypes.data + before - offset * array.itemsize) % LINE
    steps = None if strides is None else [stride * array.itemsize for stride in strides]
    inside: AnyArray = np.ndarray(array.shape, array.dtype, memory, start, steps)
    inside[...] = array
    return Place(memory, inside)
