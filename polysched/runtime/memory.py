"""Addresses and aligned memory of numpy arrays."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from polysched.ir.core.strides import elements_spanned

# An array type of no elements views a buffer of any size, an empty one too.
_View = ctypes.c_char * 0


def aligned_zeros(
    shape: tuple[int, ...],
    dtype: npt.DTypeLike = np.float32,
    alignment: int = 128,
    *,
    strides: tuple[int, ...] | None = None,
) -> np.ndarray[Any, Any]:
    """A new array of zeros that starts at a multiple of ``alignment`` bytes.

    numpy itself promises only 16 bytes, with which every 64-byte load may cross a cache line.

    Args:
        strides: positive, in elements; by default those of row-major order without gaps.

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
    size = math.prod(shape) if strides is None else elements_spanned(shape, strides)
    memory = np.zeros(size * element.itemsize + alignment, np.uint8)
    in_bytes = None if strides is None else [stride * element.itemsize for stride in strides]
    return np.ndarray(shape, element, memory, -address(memory, True) % alignment, in_bytes)


def aligned_empty(
    shape: tuple[int, ...], dtype: npt.DTypeLike = np.float32, alignment: int = 128
) -> np.ndarray[Any, Any]:
    """A new array in row-major order, of anything, for what is going to be written whole.

    It starts at a multiple of ``alignment`` bytes, a power of two.

    Raises:
        MemoryError: there is not that much memory.
    """
    element = np.dtype(dtype)
    memory = np.empty(math.prod(shape) * element.itemsize + alignment, np.uint8)
    return np.ndarray(shape, element, memory, -address(memory, True) % alignment)


def aligned_copy(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy that starts at a multiple of 128 bytes and has the strides of the original."""
    strides = tuple(stride // array.itemsize for stride in array.strides)
    copied = aligned_zeros(array.shape, array.dtype, strides=strides)
    copied[...] = array
    return copied


_MOST_WORK = 100_000
"""Steps of numpy's search for a common element; after them arrays are taken to have one."""


def share_memory(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Whether an element of one array lies in the other, or that is too hard to tell."""
    try:
        # The stubs know two of the numbers that numpy takes.
        return np.shares_memory(one, other, max_work=_MOST_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def address(array: np.ndarray[Any, Any], writable: bool) -> int:
    """The address of the first element.

    ``writable`` says whether the array is contiguous and numpy lets it be written. For what is,
    ctypes' own view takes a quarter of the time of ``array.ctypes.data``.
    """
    if writable:
        return ctypes.addressof(_View.from_buffer(array))  # type: ignore[arg-type]
    return int(array.ctypes.data)
