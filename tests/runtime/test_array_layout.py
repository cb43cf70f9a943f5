from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from polysched.runtime.array_layout import (
    ALIGNED,
    C_CONTIGUOUS,
    F_CONTIGUOUS,
    WRITEABLE,
    fault_of_output,
    is_simple,
    layout_of,
)


def test_flags_have_numpys_numbers() -> None:
    assert np.zeros((2, 3)).flags.num & 0x7FF & ~4 == C_CONTIGUOUS | ALIGNED | WRITEABLE
    assert np.zeros((2, 3), order="F").flags.num & 3 == F_CONTIGUOUS
    misaligned = np.zeros(17, np.uint8)[1:].view(np.float64)
    assert not misaligned.flags.num & ALIGNED


def test_layouts_differ_where_calls_differ() -> None:
    read_only = np.zeros((4, 4), np.float32)
    read_only.flags.writeable = False
    arrays = [
        np.zeros((4, 4), np.float32),
        read_only,
        np.zeros((4, 4), np.int32),
        np.zeros((4, 4), ">f4"),
        np.zeros((4, 4), np.float32, order="F"),
        np.zeros((4, 8), np.float32)[:, ::2],
        np.zeros((4, 4), np.float32)[::-1],
        np.zeros(65, np.uint8)[1:].view(np.float32).reshape(4, 4),
        np.zeros(16, np.float32),
        np.zeros((2, 8), np.float32),
    ]
    assert len({layout_of(array) for array in arrays}) == len(arrays)
    assert layout_of(np.zeros(3)) == layout_of(np.ones(3))
    assert [is_simple(layout_of(array)) for array in arrays[:6]] == [
        True,
        False,
        True,
        True,
        False,
        False,
    ]


def test_an_array_that_warns_when_written_is_not_simple() -> None:
    array = np.broadcast_arrays(np.float32(3), np.zeros(1))[0]
    assert array.flags.num & C_CONTIGUOUS
    assert array.flags.num & WRITEABLE
    assert not is_simple(layout_of(array))


MEMORY = np.zeros(64, np.uint8)
GRID = np.zeros((4, 6), np.float32)


def fault(array: np.ndarray[Any, Any], **options: bool) -> str:
    return fault_of_output(array.flags.num, array.shape, array.strides, array.itemsize, **options)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.broadcast_to(GRID, (2, 4, 6)), "is read-only"),
        (MEMORY[1:33].view("f4"), "is misaligned: its address or a stride is not a multiple of 4 "),
        (GRID[::-1], "has a stride of -24 bytes along axis 0; expected a positive"),
        (as_strided(GRID, (3, 4), (0, 4)), "has a stride of 0 bytes along axis 0"),
        (as_strided(GRID, (3, 4), (4, 4)), "has elements that may share memory"),
        (MEMORY[:48].view("c8")[::1].real, "has elements that may share memory"),
    ],
)
def test_what_is_wrong(array: np.ndarray[Any, Any], message: str) -> None:
    assert fault(array).startswith(message)


def test_gaps() -> None:
    assert fault(GRID.T, contiguous=True) == "is not contiguous in row-major order"
    pairs = np.zeros(6, np.dtype([("x", "f4"), ("y", "i2"), ("z", "u4")]))["x"]
    assert fault(pairs[:3]).startswith("is misaligned: its address or a stride")
    three = np.zeros(6, np.dtype([("x", "u1"), ("y", "u2")]))["y"]
    assert fault(three).startswith("is misaligned")
    triples = np.zeros(6, np.dtype([("x", "f8"), ("y", "f4")], align=False))["x"]
    assert fault(triples) == "is misaligned: its address or a stride is not a multiple of 8 bytes"
