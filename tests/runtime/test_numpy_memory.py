import numpy as np

from polysched.runtime.numpy_memory import (
    ALIGNED,
    C_CONTIGUOUS,
    F_CONTIGUOUS,
    WRITEABLE,
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
