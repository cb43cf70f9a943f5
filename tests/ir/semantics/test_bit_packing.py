"""Packed buffers against arithmetic on Python's integers."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polysched.errors import CallError, KernelError
from polysched.ir.core.packing import Rows, as_rows, byte_shape
from polysched.ir.expr.dtypes import ODD_DTYPES, DType, as_dtype
from polysched.ir.semantics.bit_packing import pack_bits, unpack_bits, unused_bits

SHAPES = st.lists(st.integers(0, 6), min_size=1, max_size=3).map(tuple)


def as_one_number(values: np.ndarray, bits: int) -> int:
    """All the values of one row as one long number, the first the lowest."""
    mask = (1 << bits) - 1
    return sum((int(value) & mask) << (bits * at) for at, value in enumerate(values))


@given(st.sampled_from(ODD_DTYPES), SHAPES, st.sampled_from(Rows), st.integers(0, 9))
def test_bits_lie_one_after_the_other(
    dtype: DType, shape: tuple[int, ...], rows: Rows, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    values = generator.integers(dtype.lowest, dtype.highest, shape, dtype.numpy(), endpoint=True)
    buffer = pack_bits(values, dtype, rows=rows, overflow="raise")
    assert buffer.dtype == np.uint8
    assert buffer.shape == byte_shape(dtype, shape, rows)
    count = math.prod(shape[:-1]) if rows is Rows.PADDED else 1
    lines = values.reshape(count, values.size // max(count, 1))
    width = buffer.shape[-1]
    for line, its_bytes in zip(lines, buffer.reshape(len(lines), width), strict=True):
        assert int.from_bytes(its_bytes.tobytes(), "little") == as_one_number(line, dtype.bits)
    assert np.array_equal(unpack_bits(buffer, dtype, shape, rows=rows), values)
    unused = unused_bits(dtype, shape, rows)
    assert not (buffer & unused).any()
    assert int(np.unpackbits(unused).sum()) == 8 * buffer.size - values.size * dtype.bits


def test_what_does_not_fit() -> None:
    values = np.array([-9, -8, 7, 8, 300])
    wrapped = unpack_bits(pack_bits(values, "i4", overflow="wrap"), "i4", (5,))
    assert wrapped.tolist() == [7, -8, 7, -8, -4]
    clipped = unpack_bits(pack_bits(values, "i4", overflow="saturate"), "i4", (5,))
    assert clipped.tolist() == [-8, -8, 7, 7, 7]
    with pytest.raises(CallError, match=r"value -9 at \[0\] does not fit i4, .* from -8 to 7;"):
        pack_bits(values, "i4", overflow="raise")
    with pytest.raises(CallError, match=r"value 8 at \[1, 0\] does not fit u3"):
        pack_bits(np.array([[7, 0], [8, 9]]), "u3", overflow="raise", rows="padded")
    with pytest.raises(
        CallError, match="overflow='clip' is not an overflow policy; .* 'wrap', 'saturate'"
    ):
        pack_bits(values, "i4", overflow="clip")


def test_unsigned_values_beyond_the_signed_range_are_compared_exactly() -> None:
    values = np.array([2**64 - 1, 3], np.uint64)
    assert unpack_bits(pack_bits(values, "i5", overflow="saturate"), "i5", (2,)).tolist() == [15, 3]
    with pytest.raises(CallError, match="value 18446744073709551615 at"):
        pack_bits(values, "i5", overflow="raise")


def test_the_result_is_of_the_container_type() -> None:
    assert unpack_bits(np.zeros(1, np.uint8), "u7", (1,)).dtype == np.uint8
    assert unpack_bits(np.zeros(2, np.uint8), "i9", (1,)).dtype == np.int16
    assert unpack_bits(np.zeros(3, np.uint8), "u20", (1,)).dtype == np.uint32


@pytest.mark.parametrize(
    ("buffer", "shape", "message"),
    [
        (
            np.zeros(3, np.uint8),
            (5, 1),
            r"uint8 and shape \(3,\); expected uint8 of shape \(5, 1\)",
        ),
        (np.zeros((5, 2), np.uint8), (5, 1), r"expected uint8 of shape \(5, 1\), which holds i4"),
        (np.zeros((5, 1), np.int8), (5, 1), "elements of type int8"),
    ],
)
def test_a_buffer_of_another_length_or_type(
    buffer: np.ndarray, shape: tuple[int, ...], message: str
) -> None:
    with pytest.raises(CallError, match=message):
        unpack_bits(buffer, "i4", shape, rows="padded")


@pytest.mark.parametrize("shape", [(-8,), (-1, -8), 8, (2.0, 4)])
def test_what_is_no_shape(shape: tuple[int, ...]) -> None:
    message = rf"the shape is {re.escape(repr(shape))}; expected a tuple of extents, none of them"
    with pytest.raises(CallError, match=message):
        unpack_bits(np.zeros(4, np.uint8), "u4", shape, rows="contiguous")


def test_values_and_types_that_are_not_packed() -> None:
    with pytest.raises(CallError, match="values of type float64 cannot be packed as i4"):
        pack_bits(np.zeros(3), "i4", overflow="wrap")
    with pytest.raises(CallError, match="elements of type i8 are not packed"):
        pack_bits(np.zeros(3, np.int8), "i8", overflow="wrap")
    with pytest.raises(KernelError, match="a packed buffer of i4 has 2 dimensions: say where"):
        pack_bits(np.zeros((3, 3), np.int8), "i4", overflow="wrap")


def test_layouts_are_said_where_they_matter() -> None:
    i4, i8 = as_dtype("i4"), as_dtype("i8")
    assert as_rows("array 'w'", i4, 1, None) is Rows.PADDED
    assert as_rows("array 'w'", i4, 2, "contiguous") is Rows.CONTIGUOUS
    assert as_rows("array 'w'", i8, 2, None) is None
    with pytest.raises(KernelError, match="rows='padded' sets the .* but i8 takes whole bytes"):
        as_rows("array 'w'", i8, 2, "padded")
    with pytest.raises(KernelError, match="array 'w' of i4 has no dimension; .* such as \\(1,\\)"):
        as_rows("array 'w'", i4, 0, None)
    with pytest.raises(KernelError, match="rows='tight' is not a layout; expected 'padded' or"):
        as_rows("array 'w'", i4, 2, "tight")
