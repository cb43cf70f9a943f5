"""How argument arrays lie in memory: a packed array is a buffer of bytes, others are themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from polysched.ir.core.kernel import Array
from polysched.ir.core.packing import Rows, byte_shape
from polysched.ir.expr.dtypes import u8


def buffer_type(array: Array) -> np.dtype[Any]:
    """The type of the elements that numpy sees."""
    return (u8 if array.is_packed else array.dtype).numpy()


def buffer_shape(array: Array, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that numpy sees, of an array with these extents."""
    return shape if array.rows is None else byte_shape(array.dtype, shape, array.rows)


def buffer_rank(array: Array) -> int:
    """The number of dimensions that numpy sees."""
    return 1 if array.rows is Rows.CONTIGUOUS else len(array.shape)


def counted_dimensions(array: Array) -> int:
    """How many of the first dimensions numpy sees with the extents that they are declared with."""
    if array.rows is None:
        return len(array.shape)
    return 0 if array.rows is Rows.CONTIGUOUS else len(array.shape) - 1


def buffer_text(array: Array) -> str:
    """What a packed array is, for messages: ``of i4 packed in bytes, padded rows``; or nothing."""
    if array.rows is None:
        return ""
    return f" of {array.dtype} packed in bytes, {array.rows.value} rows"
