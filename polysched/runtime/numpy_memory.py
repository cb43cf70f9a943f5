"""Layout of a numpy array: the properties, apart from its address, that a call depends on."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np

# numpy's documented bits of `ndarray.flags.num`.
C_CONTIGUOUS, F_CONTIGUOUS, ALIGNED, WRITEABLE = 0x0001, 0x0002, 0x0100, 0x0400

_SIMPLE = C_CONTIGUOUS | WRITEABLE

Layout: TypeAlias = tuple[np.dtype[Any], tuple[int, ...], int, tuple[int, ...]]
"""Element type, shape, ``flags.num`` and strides in bytes."""

layout_of: Callable[[np.ndarray[Any, Any]], Layout] = attrgetter(
    "dtype", "shape", "flags.num", "strides"
)
"""The layout of an array. ``attrgetter`` is faster than a function with four attributes."""


def is_simple(layout: Layout) -> bool:
    """Whether an array is writable and contiguous in row-major order."""
    return layout[2] & _SIMPLE == _SIMPLE
