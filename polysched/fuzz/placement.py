"""Arguments in the midst of memory that nobody may change, at addresses of any kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysched.ir.memory import AnyArray
from polysched.ir.strides import elements_spanned

GUARD = 256
"""Bytes before and after every array, at least."""

LINE = 64
"""Bytes of a cache line, and of the longest vector."""

GUARD_BYTE = 0x5A


@dataclass(frozen=True, eq=False)
class Place:
    """An array, and the bytes that it lies in."""

    memory: NDArray[np.uint8]
    array: AnyArray

    @property
    def start(self) -> int:
        """The place of the first element among the bytes."""
        return int(self.array.ctypes.data - self.memory.ctypes.data)

    def changed_outside(self) -> int:
        """How many bytes have changed that are no element's: around the array or in its gaps."""
        outside = self.memory.copy()
        shape = (*self.array.shape, self.array.itemsize)
        steps = (*self.array.strides, 1)
        own: NDArray[Any] = np.ndarray(shape, np.uint8, outside, self.start, steps)
        own.fill(GUARD_BYTE)
        return int(np.count_nonzero(outside != GUARD_BYTE))


def placed(array: AnyArray, strides: tuple[int, ...] | None = None, *, offset: int = 0) -> Place:
    """A copy of an array in a place of its own.

    Args:
        strides: in elements; without them the copy is contiguous.
        offset: elements from a multiple of 64 bytes to the first element.
    """
    spanned = array.size if strides is None else elements_spanned(array.shape, strides)
    before = GUARD + LINE + offset * array.itemsize
    memory = np.full(before + spanned * array.itemsize + GUARD, GUARD_BYTE, np.uint8)
    start = before - (memory.ctypes.data + before - offset * array.itemsize) % LINE
    steps = None if strides is None else [stride * array.itemsize for stride in strides]
    inside: AnyArray = np.ndarray(array.shape, array.dtype, memory, start, steps)
    inside[...] = array
    return Place(memory, inside)
