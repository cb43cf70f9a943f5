"""Memory layout of arrays of odd-width integers: elements are packed bit by bit, without gaps.

Bit b of the array is bit ``b mod 8`` of byte ``b // 8``. Element k of a row starts at bit
``bits * k`` of the row, lowest bit first (little-endian). A row consists of the elements along the
last dimension. With ``rows="padded"`` each row begins at a new byte. With ``rows="contiguous"``
each row begins at the bit after the previous row. In Python the array is a buffer of bytes, of the
shape that :func:`byte_shape` returns:

=============== ========================================= ==========================
rows            declared shape ``(m, n)``                 numpy array of ``uint8``
=============== ========================================= ==========================
``padded``      rows of ``ceil(n * bits / 8)`` bytes      ``(m, ceil(n * bits / 8))``
``contiguous``  ``m * n * bits`` bits and no gap          ``(ceil(m * n * bits / 8),)``
=============== ========================================= ==========================

Padding bits after the last element of a row or buffer are ignored; kernels leave them unchanged.
"""

from __future__ import annotations

import math
from enum import Enum

from polysched.errors import KernelError
from polysched.ir.expr.dtypes import DType


class Rows(Enum):
    """Layout of a packed array: where its rows begin."""

    PADDED = "padded"
    CONTIGUOUS = "contiguous"


def as_rows(subject: str, dtype: DType, rank: int, rows: Rows | str | None) -> Rows | None:
    """Validate the layout of an array; None if its elements are not packed.

    Args:
        subject: the array in messages: ``array 'w'``.
        rank: the number of dimensions.
        rows: the requested layout; optional for one dimension, which has a single row.

    Raises:
        KernelError: a packed array has no layout or no dimension, the layout is unknown, or an
            array that is not packed has a layout.
    """
    if not dtype.is_odd_width:
        if rows is not None:
            raise KernelError(
                f"{subject}: rows={_text(rows)} sets the layout of packed integers, but {dtype} "
                "takes whole bytes; leave it out"
            )
        return None
    if rank == 0:
        raise KernelError(
            f"{subject} of {dtype} has no dimension; expected at least one, such as (1,)"
        )
    if rows is None and rank > 1:
        raise KernelError(
            f"{subject} of {dtype} has {rank} dimensions: say where a row begins, rows='padded' "
            "(at a new byte) or rows='contiguous' (at the next bit)"
        )
    try:
        return Rows.PADDED if rows is None else Rows(rows)
    except ValueError:
        raise KernelError(
            f"{subject}: rows={_text(rows)} is not a layout; expected 'padded' or 'contiguous'"
        ) from None


def _text(rows: Rows | str | None) -> str:
    return repr(rows.value if isinstance(rows, Rows) else rows)


def byte_shape(dtype: DType, shape: tuple[int, ...], rows: Rows) -> tuple[int, ...]:
    """The shape of the byte buffer of a packed array."""
    if rows is Rows.PADDED:
        return (*shape[:-1], -(-shape[-1] * dtype.bits // 8))
    return (-(-math.prod(shape) * dtype.bits // 8),)
