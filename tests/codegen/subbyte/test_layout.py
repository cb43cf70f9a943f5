"""Where packed elements lie, in bits."""

from collections.abc import Callable
from typing import Any

import pytest
from llvmlite import ir

from polysched.codegen.functions import new_function
from polysched.codegen.memory import Storage, element_offset
from polysched.codegen.subbyte.layout import bit_strides, coarsest_phase, known_place, most_bytes
from polysched.ir.core.kernel import Array, Role
from polysched.ir.core.packing import Rows
from polysched.ir.expr.dtypes import as_dtype
from polysched.ir.expr.expressions import Constant, Index


def packed(dtype: str, shape: tuple[int, ...], rows: Rows) -> Array:
    names = tuple("abc"[: len(shape)])
    extents = tuple(Constant(extent) for extent in shape)
    return Array("w", as_dtype(dtype), extents, Role.INPUT, names, rows=rows)


def storage(array: Array) -> tuple[ir.IRBuilder, Storage]:
    signature = ir.FunctionType(ir.VoidType(), [ir.PointerType()])
    function, builder = new_function(ir.Module("m"), "f", signature)
    times: Callable[[Any, Any], Any] = lambda a, b: a * b  # noqa: E731
    extents = tuple(int(extent.value) for extent in array.shape if isinstance(extent, Constant))
    strides = bit_strides(builder, array, extents, times)
    return builder, Storage(array, function.args[0], strides, 1)


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
    assert storage(packed(dtype, shape, rows))[1].strides == strides


def test_places_whose_phase_is_known() -> None:
    builder, lying = storage(packed("i4", (5, 7), Rows.PADDED))
    i, j = Index("i"), Index("j")
    place = known_place(builder, lying, element_offset(lying, (i, 2 * j + 3), None))
    assert place is not None
    assert (place.phase, place.offset.literal.constant) == (4, 1)
    assert dict(place.offset.literal.terms) == {i: 4, j: 1}
    assert known_place(builder, lying, element_offset(lying, (i, j), None)) is None


def test_rows_that_begin_anywhere_have_no_known_phase() -> None:
    builder, lying = storage(packed("i4", (5, 7), Rows.CONTIGUOUS))
    zero = Constant(0)
    assert known_place(builder, lying, element_offset(lying, (Index("i"), zero), None)) is None
    place = known_place(builder, lying, element_offset(lying, (Constant(1), zero), None))
    assert place is not None
    assert (place.phase, place.offset.literal.constant) == (4, 3)


@pytest.mark.parametrize("bits", range(1, 32))
def test_the_most_bytes_that_an_element_touches(bits: int) -> None:
    if bits in (8, 16):
        return
    array = packed(f"u{bits}", (64,), Rows.PADDED)
    touched = [(first + bits - 1) // 8 - first // 8 + 1 for first in range(0, 64 * bits, bits)]
    phases = {first % 8 for first in range(0, 64 * bits, bits)}
    assert most_bytes(array) == max(touched)
    assert phases == set(range(0, 8, coarsest_phase(array)))
