from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from polysched.runtime.output_faults import fault_of_output

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
