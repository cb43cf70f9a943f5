"""The layout of packed arrays in bits."""

from collections.abc import Callable
from typing import Any

import pytest
from llvmlite import ir

from polysched.ir.core.kernel import Array, Role
from polysched.ir.core.packing import Rows
from polysched.ir.expr.dtypes import as_dtype
from polysched.ir.expr.expressions import Constant
from polysched.llvm.builder.function_builder import new_function
from polysched.llvm.memory.packed_layout import bit_strides, coarsest_phase, most_bytes
from polysched.vector.classify import literal_strides


def packed(dtype: str, shape: tuple[int, ...], rows: Rows) -> Array:
    names = tuple("abc"[: len(shape)])
    extents = tuple(Constant(extent) for extent in shape)
    return Array("w", as_dtype(dtype), extents, Role.INPUT, names, rows=rows)


def strides_of(array: Array) -> tuple[int, ...]:
    signature = ir.FunctionType(ir.VoidType(), [ir.PointerType()])
    _, builder = new_function(ir.Module("m"), "f", signature)
    times: Callable[[Any, Any], Any] = lambda a, b: a * b  # noqa: E731
    extents = tuple(int(extent.value) for extent in array.shape if isinstance(extent, Constant))
    return bit_strides(builder, array, extents, times)


@pytest.mark.parametrize(
    ("dtype", "shape", "rows", "strides"),
    [
        ("i4", (7,), Rows.PADDED, (4,)),
        ("i4", (5, 7), Rows.PADDED, (32, 4)),
        ("i4", (5, 7), Rows.CONTIGUOUS, (28, 4)),
        ("i5", (3, 5, 7), Rows.PADDED, (200, 40, 5)),
        ("i5", (3, 5, 7), Rows.CONTIGUOUS, (175, 35, 5)),
    ],
)
def test_strides_in_bits(
    dtype: str, shape: tuple[int, ...], rows: Rows, strides: tuple[int, ...]
) -> None:
    array = packed(dtype, shape, rows)
    assert strides_of(array) == literal_strides(array) == strides


@pytest.mark.parametrize("bits", range(1, 32))
def test_the_most_bytes_that_an_element_touches(bits: int) -> None:
    if bits in (8, 16):
        return
    array = packed(f"u{bits}", (64,), Rows.PADDED)
    touched = [(first + bits - 1) // 8 - first // 8 + 1 for first in range(0, 64 * bits, bits)]
    phases = {first % 8 for first in range(0, 64 * bits, bits)}
    assert most_bytes(array) == max(touched)
    assert phases == set(range(0, 8, coarsest_phase(array)))
