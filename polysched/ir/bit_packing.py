"""Packed buffers from numpy arrays of values and back: what kernels are held to.

::

    buffer = pack_bits(weights, "i4", rows="padded", overflow="raise")
    weights = unpack_bits(buffer, "i4", weights.shape, rows="padded")
"""

from __future__ import annotations

from enum import Enum
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysched.errors import CallError
from polysched.ir.dtypes import DType, as_dtype
from polysched.ir.packing import Rows, as_rows, byte_shape

Buffer = NDArray[np.uint8]


class Overflow(Enum):
    """What becomes of a value that does not fit."""

    WRAP = "wrap"
    SATURATE = "saturate"
    RAISE = "raise"


def pack_bits(
    values: NDArray[Any],
    dtype: DType | str,
    *,
    overflow: Overflow | str,
    rows: Rows | str | None = None,
) -> Buffer:
    """Pack integers into a new buffer; the bits behind a row or at the end are 0.

    Args:
        values: integers of any type and of at least one dimension.
        dtype: an odd type, such as ``"i4"``.
        overflow: what becomes of values that do not fit: ``"wrap"`` keeps their lowest bits, as a
            kernel's ``cast`` does, ``"saturate"`` takes the nearest value of the type, ``"raise"``
            is an error.
        rows: ``"padded"`` or ``"contiguous"``, see :mod:`polysched.ir.packing`; of a vector
            nothing need be said.

    Raises:
        CallError: values that are no integers, or do not fit and have to; no such policy.
        KernelError: the type is not odd, or the layout is none.
    """
    odd, given = _odd(dtype), np.asarray(values)
    layout = _layout(odd, given.ndim, rows)
    if given.dtype.kind not in "iu":
        raise CallError(
            f"pack_bits: values of type {given.dtype} cannot be packed as {odd}; expected integers"
        )
    fitted = _fitted(given, odd, overflow).astype(_unsigned(odd))
    table = fitted if layout is Rows.PADDED else fitted.reshape(-1)
    bits = _split(table, odd)
    packed = np.packbits(bits, axis=-1, bitorder="little")
    return packed.reshape(byte_shape(odd, given.shape, layout))


def unpack_bits(
    buffer: NDArray[np.uint8],
    dtype: DType | str,
    shape: tuple[int, ...],
    *,
    rows: Rows | str | None = None,
) -> NDArray[Any]:
    """The values of a packed buffer, as a new array of the type's container (of i4: int8).

    Args:
        buffer: bytes, of the shape that :func:`polysched.ir.packing.byte_shape` gives.
        dtype: an odd type, such as ``"i4"``.
        shape: of the result.
        rows: as of :func:`pack_bits`.

    Raises:
        CallError: the buffer has another shape or type of elements, or the result's shape is none.
        KernelError: the type is not odd, or the layout is none.
    """
    odd, given, shape = _odd(dtype), np.asarray(buffer), _extents(shape)
    layout = _layout(odd, len(shape), rows)
    expected = byte_shape(odd, shape, layout)
    if given.dtype != np.uint8 or given.shape != expected:
        raise CallError(
            f"unpack_bits: the buffer has elements of type {given.dtype} and shape {given.shape}; "
            f"expected uint8 of shape {expected}, which holds {odd} of shape {shape} with "
            f"{layout.value} rows"
        )
    count = shape[-1] if layout is Rows.PADDED else int(np.prod(shape))
    bits = np.unpackbits(given, axis=-1, count=count * odd.bits, bitorder="little")
    wide = np.zeros((*bits.shape[:-1], count, 8 * odd.bytes), np.uint8)
    wide[..., : odd.bits] = bits.reshape(*bits.shape[:-1], count, odd.bits)
    if odd.is_signed:
        wide[..., odd.bits :] = wide[..., odd.bits - 1 : odd.bits]
    joined = np.packbits(wide, axis=-1, bitorder="little")
    return joined.view(odd.numpy().newbyteorder("<")).astype(odd.numpy()).reshape(shape)


def unused_bits(dtype: DType, shape: tuple[int, ...], rows: Rows) -> Buffer:
    """A buffer with ones in the bits that belong to no element, zeros in the others."""
    ones = np.full(shape, -1 if dtype.is_signed else dtype.highest, dtype.numpy())
    return ~pack_bits(ones, dtype, rows=rows, overflow=Overflow.WRAP)


def _odd(dtype: DType | str) -> DType:
    odd = as_dtype(dtype)
    if not odd.is_odd:
        raise CallError(
            f"elements of type {odd} are not packed; expected an integer of 1 to 31 bits other "
            "than 8 and 16, such as 'i4'"
        )
    return odd


def _extents(shape: tuple[int, ...]) -> tuple[int, ...]:
    try:
        extents = tuple(index(extent) for extent in shape)
    except TypeError:
        extents = (-1,)
    if any(extent < 0 for extent in extents):
        raise CallError(
            f"unpack_bits: the shape is {shape!r}; expected a tuple of extents, none of them "
            "negative"
        )
    return extents


def _layout(dtype: DType, rank: int, rows: Rows | str | None) -> Rows:
    layout = as_rows("a packed buffer", dtype, rank, rows)
    assert layout is not None
    return layout


def _unsigned(dtype: DType) -> np.dtype[Any]:
    """Little-endian, so that the bytes of a value are in the order of its bits."""
    return np.dtype(f"<u{dtype.bytes}")


def _split(values: NDArray[Any], dtype: DType) -> Buffer:
    """The bits of all values of each row, one a byte."""
    *outer, count = values.shape
    in_bytes = np.ascontiguousarray(values).view(np.uint8).reshape(*outer, count, dtype.bytes)
    bits = np.unpackbits(in_bytes, axis=-1, count=dtype.bits, bitorder="little")
    return bits.reshape(*outer, count * dtype.bits)


def _fitted(values: NDArray[Any], dtype: DType, overflow: Overflow | str) -> NDArray[Any]:
    try:
        policy = Overflow(overflow)
    except ValueError:
        raise CallError(
            f"overflow={overflow!r} is no policy for values that do not fit; expected 'wrap', "
            "'saturate' or 'raise'"
        ) from None
    if policy is Overflow.WRAP or values.size == 0:
        return values
    limits = np.iinfo(values.dtype)
    lowest, highest = max(dtype.lowest, limits.min), min(dtype.highest, limits.max)
    clipped = values.clip(lowest, highest)
    if policy is Overflow.SATURATE:
        return clipped
    outside = np.flatnonzero(clipped != values)
    if outside.size:
        position = ", ".join(str(int(one)) for one in np.unravel_index(outside[0], values.shape))
        raise CallError(
            f"value {int(values.flat[outside[0]])} at [{position}] does not fit {dtype}, whose "
            f"values go from {dtype.lowest} to {dtype.highest}; scale it, or say "
            "overflow='wrap' or 'saturate'"
        )
    return values
