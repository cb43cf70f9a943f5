"""Arguments as numpy sees them: a packed array is an array of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from polysched.ir.core.kernel import Array
from polysched.ir.core.packing import Rows, byte_shape
from polysched.ir.expr.dtypes import u8


def buffer_type(array: Array) -> np.dtype[Any]:
    """The element type of the numpy array."""
    return (u8 if array.is_packed else array.dtype).numpy()


def buffer_shape(array: Array, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the numpy array for an array with these extents."""
    return shape if array.rows is None else byte_shape(array.dtype, shape, array.rows)


def buffer_rank(array: Array) -> int:
    """The number of dimensions of the numpy array."""
    return 1 if array.rows is Rows.CONTIGUOUS else len(array.shape)


def counted_dimensions(array: Array) -> int:
    """The number of leading dimensions whose extents in numpy are the declared ones."""
    if array.rows is None:
        return len(array.shape)
    return 0 if array.rows is Rows.CONTIGUOUS else len(array.shape) - 1


def buffer_text(array: Array) -> str:
    """Describe a packed array for messages: ``of i4 packed in bytes, padded rows``; else empty."""
    if array.rows is None:
        return ""
    return f" of {array.dtype} packed in bytes, {array.rows.value} rows"
