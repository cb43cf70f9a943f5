"""Addresses and aligned memory of numpy arrays."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from polysched.ir.core.strides import elements_spanned
from polysched.runtime.array_layout import is_simple, layout_of

# A ctypes array without elements views a buffer of any size, an empty one too.
_view: Callable[[np.ndarray[Any, Any]], Any] = (ctypes.c_char * 0).from_buffer  # type: ignore[assignment]
_address_of_view = ctypes.addressof


def aligned_zeros(
    shape: tuple[int, ...],
    dtype: npt.DTypeLike = np.float32,
    alignment: int = 128,
    *,
    strides: tuple[int, ...] | None = None,
) -> np.ndarray[Any, Any]:
    """Allocate an array of zeros that starts at a multiple of ``alignment`` bytes.

    numpy guarantees only 16 bytes. Then every 64-byte load may cross a cache line.

    Args:
        strides: positive, in elements; by default those of row-major order without gaps.
    """
    if alignment < 1 or min(shape, default=0) < 0:
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
    """Allocate an uninitialized array in row-major order.

    It starts at a multiple of ``alignment`` bytes, a power of two.
    """
    element = np.dtype(dtype)
    memory = np.empty(math.prod(shape) * element.itemsize + alignment, np.uint8)
    return np.ndarray(shape, element, memory, -address(memory, True) % alignment)


def aligned_copy(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Copy an array to a multiple of 128 bytes, with the strides of the original."""
    strides = tuple(stride // array.itemsize for stride in array.strides)
    copied = aligned_zeros(array.shape, array.dtype, strides=strides)
    copied[...] = array
    return copied


def contiguous(
    array: np.ndarray[Any, Any], dtype: np.dtype[Any] | None = None
) -> np.ndarray[Any, Any]:
    """The array in row-major order without gaps, aligned, and of the type if one is given."""
    array = np.ascontiguousarray(array, dtype)
    return array if array.flags.aligned else aligned_copy(array)


_MOST_WORK = 100_000
"""Bound of numpy's search for a common element. Beyond it the arrays count as overlapping."""


def share_memory(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays overlap, or numpy cannot tell within ``_MOST_WORK`` steps."""
    try:
        # The type stubs allow only two values of max_work.
        return np.shares_memory(first, second, max_work=_MOST_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def address(array: np.ndarray[Any, Any], is_simple: bool) -> int:
    """The address of the first element.

    Args:
        is_simple: whether it is writable and contiguous in row-major order. Then a ctypes view
            gives the address in 0.2 microseconds; ``array.ctypes.data`` takes 1.
    """
    if is_simple:
        return _address_of_view(_view(array))
    return int(array.ctypes.data)


def addresses(arrays: Iterable[np.ndarray[Any, Any]]) -> list[int]:
    """The addresses of the first elements."""
    return [address(array, is_simple(layout_of(array))) for array in arrays]


def simple_addresses(arrays: Iterable[np.ndarray[Any, Any]]) -> list[int]:
    """The addresses of writable arrays that are contiguous in row-major order."""
    return list(map(_address_of_view, map(_view, arrays)))
