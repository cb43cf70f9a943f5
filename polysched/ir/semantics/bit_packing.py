"""Packing of numpy arrays into buffers of odd-width integers, and unpacking: the reference.

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
from polysched.ir.core.packing import Rows, as_rows, byte_shape
from polysched.ir.expr.dtypes import DType, as_dtype

Buffer = NDArray[np.uint8]


class Overflow(Enum):
    """How to convert a value that does not fit the packed type."""

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
    """Pack integers into a new buffer; padding bits after a row or at the end are 0.

    Args:
        values: integers of any type, with at least one dimension.
        dtype: an integer type of odd width, such as ``"i4"``.
        overflow: how to convert values that do not fit: ``"wrap"`` keeps the lowest bits, as a
            kernel's ``cast`` does, ``"saturate"`` takes the nearest value of the type, ``"raise"``
            raises an error.
        rows: the layout, ``"padded"`` or ``"contiguous"``, see :mod:`polysched.ir.core.packing`;
            optional if ``values`` has one dimension.

    Raises:
        CallError: ``values`` are not integers, a value does not fit under ``"raise"``, the type is
            not of odd width, or the overflow policy is unknown.
        KernelError: the layout is missing or unknown.
    """
    packed_type, array = _packed_type(dtype), np.asarray(values)
    layout = _layout(packed_type, array.ndim, rows)
    if array.dtype.kind not in "iu":
        raise CallError(
            f"pack_bits: values of type {array.dtype} cannot be packed as {packed_type}; "
            "expected integers"
        )
    fitted = _fitted(array, packed_type, overflow).astype(_unsigned(packed_type))
    table = fitted if layout is Rows.PADDED else fitted.reshape(-1)
    bits = _split(table, packed_type)
    packed = np.packbits(bits, axis=-1, bitorder="little")
    return packed.reshape(byte_shape(packed_type, array.shape, layout))


def unpack_bits(
    buffer: NDArray[np.uint8],
    dtype: DType | str,
    shape: tuple[int, ...],
    *,
    rows: Rows | str | None = None,
) -> NDArray[Any]:
    """Unpack a buffer into a new array of the type's container (for i4: int8).

    Args:
        buffer: bytes, of the shape that :func:`polysched.ir.core.packing.byte_shape` returns.
        dtype: an integer type of odd width, such as ``"i4"``.
        shape: the shape of the result.
        rows: the layout, as for :func:`pack_bits`.

    Raises:
        CallError: the buffer has another shape or element type, ``shape`` is invalid, or the type
            is not of odd width.
        KernelError: the layout is missing or unknown.
    """
    packed_type, packed, shape = _packed_type(dtype), np.asarray(buffer), _extents(shape)
    layout = _layout(packed_type, len(shape), rows)
    expected = byte_shape(packed_type, shape, layout)
    if packed.dtype != np.uint8 or packed.shape != expected:
        raise CallError(
            f"unpack_bits: the buffer has elements of type {packed.dtype} and shape "
            f"{packed.shape}; expected uint8 of shape {expected}, which holds {packed_type} of "
            f"shape {shape} with {layout.value} rows"
        )
    width = packed_type.bits
    count = shape[-1] if layout is Rows.PADDED else int(np.prod(shape))
    bits = np.unpackbits(packed, axis=-1, count=count * width, bitorder="little")
    wide = np.zeros((*bits.shape[:-1], count, 8 * packed_type.bytes), np.uint8)
    wide[..., :width] = bits.reshape(*bits.shape[:-1], count, width)
    if packed_type.is_signed:
        wide[..., width:] = wide[..., width - 1 : width]
    joined = np.packbits(wide, axis=-1, bitorder="little")
    container = packed_type.numpy()
    return joined.view(container.newbyteorder("<")).astype(container).reshape(shape)


def unused_bits(dtype: DType, shape: tuple[int, ...], rows: Rows) -> Buffer:
    """Mask of a packed buffer's padding bits: 1 in bits that belong to no element."""
    ones = np.full(shape, -1 if dtype.is_signed else dtype.highest, dtype.numpy())
    return ~pack_bits(ones, dtype, rows=rows, overflow=Overflow.WRAP)


def _packed_type(dtype: DType | str) -> DType:
    packed_type = as_dtype(dtype)
    if not packed_type.is_odd_width:
        raise CallError(
            f"elements of type {packed_type} are not packed; expected an integer of 1 to 31 bits "
            "other than 8 and 16, such as 'i4'"
        )
    return packed_type


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
    # Little-endian, so that the bytes of a value are in the order of its bits.
    return np.dtype(f"<u{dtype.bytes}")


def _split(values: NDArray[Any], dtype: DType) -> Buffer:
    """The bits of each row's values, one bit per byte: shape (..., count * bits)."""
    *outer, count = values.shape
    value_bytes = np.ascontiguousarray(values).view(np.uint8).reshape(*outer, count, dtype.bytes)
    bits = np.unpackbits(value_bytes, axis=-1, count=dtype.bits, bitorder="little")
    return bits.reshape(*outer, count * dtype.bits)


def _fitted(values: NDArray[Any], dtype: DType, overflow: Overflow | str) -> NDArray[Any]:
    try:
        policy = Overflow(overflow)
    except ValueError:
        raise CallError(
            f"overflow={overflow!r} is not an overflow policy; expected 'wrap', 'saturate' or "
            "'raise'"
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
        indices = np.unravel_index(outside[0], values.shape)
        position = ", ".join(str(int(index)) for index in indices)
        raise CallError(
            f"value {int(values.flat[outside[0]])} at [{position}] does not fit {dtype}, whose "
            f"values go from {dtype.lowest} to {dtype.highest}; scale it, or pass "
            "overflow='wrap' or 'saturate'"
        )
    return values
