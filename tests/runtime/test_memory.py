import numpy as np
import pytest

from polysched.runtime.memory import address, aligned_empty, aligned_zeros


@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 0, 2), (5, 3)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "?"])
@pytest.mark.parametrize("alignment", [1, 64, 4096])
def test_shape_type_and_alignment(shape: tuple[int, ...], dtype: str, alignment: int) -> None:
    for _ in range(5):
        array = aligned_zeros(shape, dtype, alignment)
        assert array.shape == shape
        assert array.dtype == np.dtype(dtype)
        assert array.flags.c_contiguous
        assert array.flags.writeable
        assert array.ctypes.data % alignment == 0


@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 0, 2), (5, 3)])
@pytest.mark.parametrize("alignment", [1, 64, 4096])
def test_memory_of_anything(shape: tuple[int, ...], alignment: int) -> None:
    array = aligned_empty(shape, "f8", alignment)
    array[...] = 7
    assert (array.shape, array.dtype) == (shape, np.dtype("f8"))
    assert array.flags.c_contiguous
    assert array.ctypes.data % alignment == 0


def test_it_holds_zeros() -> None:
    assert not aligned_zeros((1000, 7)).any()


def test_all_of_it_can_be_written() -> None:
    array = aligned_zeros((1000, 7), "f8")
    array[:] = 3
    assert array.sum() == 21000


@pytest.mark.parametrize(("shape", "alignment"), [((-1,), 64), ((3,), 0)])
def test_bad_arguments(shape: tuple[int, ...], alignment: int) -> None:
    with pytest.raises(ValueError, match="expected extents of at least 0 and a positive alignment"):
        aligned_zeros(shape, "f4", alignment)


def test_too_much_memory() -> None:
    with pytest.raises(MemoryError):
        aligned_zeros((2**60,), "f4")


def test_address() -> None:
    base = np.zeros((4, 5), np.float32)
    frozen = base[1:]
    frozen.flags.writeable = False
    assert address(base, True) == base.ctypes.data
    assert address(base[2:], True) == base.ctypes.data + 40
    assert address(frozen, False) == base.ctypes.data + 20
    assert address(base[4:], True) == base[4:].ctypes.data
    scalar = np.array(1.0)
    assert address(scalar, True) == scalar.ctypes.data
