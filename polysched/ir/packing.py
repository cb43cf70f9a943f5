"""Arrays of odd integers in memory: elements follow each other bit by bit, without gaps.

Bit b of the array is bit ``b mod 8`` of byte ``b // 8``, and element k of a row takes the bits from
``bits * k`` on, its own lowest bit first (little-endian). A row - the elements along the last
dimension - either begins at a byte of its own, ``rows="padded"``, or at the bit behind the row
before it, ``rows="contiguous"``. In Python such an array is a buffer of bytes, :func:`byte_shape`:

=============== ========================================= ==========================
rows            declared ``(m, n)`` of so many bits       numpy array of ``uint8``
=============== ========================================= ==========================
``padded``      rows of ``ceil(n * bits / 8)`` bytes      ``(m, ceil(n * bits / 8))``
``contiguous``  ``m * n * bits`` bits and no gap          ``(ceil(m * n * bits / 8),)``
=============== ========================================= ==========================

What the bits behind the last element of a row or buffer hold means nothing; kernels leave them as
they are.
"""

from __future__ import annotations

import math
from enum import Enum

from polysched.errors import KernelError
from polysched.ir.dtypes import DType


class Rows(Enum):
    """Where the rows of a packed array begin."""

    PADDED = "padded"
    CONTIGUOUS = "contiguous"


def as_rows(subject: str, dtype: DType, rank: int, rows: Rows | str | None) -> Rows | None:
    """The layout of an array: None of what is not packed.

    Args:
        subject: what the array is, for messages: ``array 'w'``.
        rank: its number of dimensions.
        rows: as the caller says it. Of one dimension there is one row, and nothing to say.

    Raises:
        KernelError: the type is packed and nothing is said of the rows, or the other way round; no
            such layout; no dimension.
    """
    if not dtype.is_odd:
        if rows is not None:
            raise KernelError(
                f"{subject}: rows={_text(rows)} says how packed integers lie, and {dtype} takes "
                "whole bytes; leave it out"
            )
        return None
    if rank == 0:
        raise KernelError(
            f"{subject} of {dtype} has no dimension; expected at least one, such as (1,)"
        )
    if rows is None and rank > 1:
        raise KernelError(
            f"{subject} of {dtype} has {rank} dimensions: say where a row begins, rows='padded' "
            "(at a byte of its own) or rows='contiguous' (at the next bit)"
        )
    try:
        return Rows.PADDED if rows is None else Rows(rows)
    except ValueError:
        raise KernelError(
            f"{subject}: rows={_text(rows)} is no layout; expected 'padded' or 'contiguous'"
        ) from None


def _text(rows: Rows | str | None) -> str:
    return repr(rows.value if isinstance(rows, Rows) else rows)


def byte_shape(dtype: DType, shape: tuple[int, ...], rows: Rows) -> tuple[int, ...]:
    """The shape of the buffer of bytes that holds a packed array."""
    if rows is Rows.PADDED:
        return (*shape[:-1], -(-shape[-1] * dtype.bits // 8))
    return (-(-math.prod(shape) * dtype.bits // 8),)
