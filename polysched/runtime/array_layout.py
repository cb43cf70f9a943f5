"""Layout of a numpy array: the properties, apart from its address, that a call depends on."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np

# numpy's documented bits of `ndarray.flags.num`.
C_CONTIGUOUS, F_CONTIGUOUS, ALIGNED, WRITEABLE = 0x0001, 0x0002, 0x0100, 0x0400

_OF_A_PACKAGE = 2
"""``isbuiltin`` of element types that packages add to numpy."""

SIMPLE = C_CONTIGUOUS | WRITEABLE
"""Arrays whose address :mod:`polysched.runtime.memory` finds fast."""

IN_PLACE = ALIGNED | SIMPLE
"""Arrays that kernels of contiguous arrays write in place."""

Layout: TypeAlias = tuple[np.dtype[Any], tuple[int, ...], int, tuple[int, ...]]
"""Element type, shape, ``flags.num`` and strides in bytes."""

layout_of: Callable[[np.ndarray[Any, Any]], Layout] = attrgetter(
    "dtype", "shape", "flags.num", "strides"
)
"""The layout of an array. ``attrgetter`` is faster than a function with four attributes."""


_WARN_ON_WRITE = -1 << 31
"""Sign bit of ``flags.num``: set in results of ``numpy.broadcast_arrays``.

They count as writable, but their buffers are read-only.
"""


def is_simple(layout: Layout) -> bool:
    """Whether an array and its buffer are writable and contiguous in row-major order."""
    return layout[2] & (SIMPLE | _WARN_ON_WRITE) == SIMPLE and has_buffer(layout[0])


def has_buffer(dtype: np.dtype[Any]) -> bool:
    """Whether arrays have the buffer protocol: not of a type that a package adds to numpy."""
    return dtype.isbuiltin != _OF_A_PACKAGE


def fault_of_output(
    flags: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    itemsize: int,
    *,
    contiguous: bool = False,
) -> str:
    """Describe the fault of an output array as a predicate, such as ``is read-only``.

    Args:
        flags: numpy's ``flags.num``.
        strides: in bytes; None for an array in row-major order without gaps.
        contiguous: whether the array must be contiguous.
    """
    if not flags & WRITEABLE:
        return "is read-only"
    if not flags & ALIGNED:
        return f"is misaligned: its address or a stride is not a multiple of {itemsize} bytes"
    if contiguous and not flags & C_CONTIGUOUS:
        return "is not contiguous in row-major order"
    for axis, (extent, stride) in enumerate(zip(shape, strides or (), strict=False)):
        if extent > 1 and stride <= 0:
            return f"has a stride of {stride} bytes along axis {axis}; expected a positive one"
        if extent > 1 and stride % itemsize:
            return (
                f"has a stride of {stride} bytes along axis {axis}, which is not a multiple of "
                f"{itemsize}, the bytes of an element"
            )
    return "has elements that may share memory"
