"""Addresses and aligned memory of numpy arrays."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import numpy.typing as npt

# An array type of no elements views a buffer of any size, an empty one too.
_View = ctypes.c_char * 0


def aligned_zeros(
    shape: tuple[int, ...], dtype: npt.DTypeLike = np.float32, alignment: int = 128
) -> np.ndarray[Any, Any]:
    """A new row-major array of zeros that starts at a multiple of ``alignment`` bytes.

    numpy itself promises only 16 bytes, with which every 64-byte load may cross a cache line.

    Raises:
        ValueError: ``alignment`` is not positive or an extent is negative.
        MemoryError: there is not that much memory.
    """
    if alignment < 1 or any(extent < 0 for extent in shape):
        raise ValueError(
            f"shape {shape} aligned to {alignment} bytes: expected extents of at least 0 and a "
            "positive alignment"
        )
    element = np.dtype(dtype)
    memory = np.zeros(math.prod(shape) * element.itemsize + alignment, np.uint8)
    return np.ndarray(shape, element, memory, -address(memory, True) % alignment)


def address(array: np.ndarray[Any, Any], writable: bool) -> int:
    """The address of the first element; ``writable`` says whether numpy lets the array be written.

    For what is writable, ctypes' own view takes a quarter of the time of ``array.ctypes.data``.
    """
    if writable:
        return ctypes.addressof(_View.from_buffer(array))  # type: ignore[arg-type]
    return int(array.ctypes.data)
