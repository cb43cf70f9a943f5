import numpy as np
import pytest

from polysched.fuzz.judge.machine import placed


@pytest.mark.parametrize("offset", [0, 1, 5])
@pytest.mark.parametrize("strides", [None, (9, 1), (1, 4), (8, 2)])
def test_a_place(offset: int, strides: tuple[int, ...] | None) -> None:
    array = np.arange(12, dtype=np.int16).reshape(3, 4)
    place = placed(array, strides, offset=offset)
    assert place.array.ctypes.data % 64 == 2 * offset
    np.testing.assert_array_equal(place.array, array)
    if strides is not None:
        assert place.array.strides == tuple(2 * stride for stride in strides)
    assert place.changed_outside() == 0
    place.array[...] = 7
    assert place.changed_outside() == 0


def test_writes_outside_are_seen() -> None:
    place = placed(np.zeros((2, 3), np.int32), (5, 1))
    start = place.start
    for byte in (start - 1, start + 12, start + 19, start + 32):
        place.memory[byte] = 1
    assert place.changed_outside() == 4
    place.memory[start + 11] = 1  # of the last element of the first row
    assert place.changed_outside() == 4


def test_empty_arrays() -> None:
    assert placed(np.zeros((0, 3), np.float32), (3, 1)).changed_outside() == 0
    assert placed(np.zeros((), np.float32)).array.shape == ()
