import array
import ctypes

import numpy as np
import pytest

from polysched.errors import CallError
from polysched.runtime.views import as_array


class Tensor:
    """A DLPack tensor over a numpy array, on a device of any type."""

    def __init__(self, memory: np.ndarray, device: int = 1) -> None:
        self.memory = memory
        self.device = device

    def __dlpack__(self, **options: object) -> object:
        return self.memory.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)


def test_numpy_arrays_are_viewed_not_copied() -> None:
    class Sub(np.ndarray):
        pass

    memory = np.arange(6.0)
    for value in (memory, memory.view(Sub), np.arange(6.0).view(Sub)):
        view = as_array(value, "array 'x'")
        assert type(view) is np.ndarray
        assert np.shares_memory(view, value)


def test_buffers_are_viewed_not_copied() -> None:
    floats = array.array("f", [1, 2, 3])
    view = as_array(floats, "array 'x'")
    assert view.dtype == np.float32
    view[1] = 7
    assert floats[1] == 7


def test_shaped_memoryview() -> None:
    view = as_array(memoryview(bytearray(24)).cast("f", (2, 3)), "array 'x'")
    assert view.shape == (2, 3)
    assert view.dtype == np.float32


def test_ctypes_array() -> None:
    view = as_array((ctypes.c_double * 4)(1, 2, 3, 4), "array 'x'")
    assert view.dtype == np.float64
    assert view.tolist() == [1, 2, 3, 4]


def test_read_only_buffer_stays_read_only() -> None:
    assert not as_array(bytes(4), "array 'x'").flags.writeable


def test_dlpack_tensors_are_viewed_not_copied() -> None:
    memory = np.arange(6, dtype=np.float32).reshape(2, 3)
    view = as_array(Tensor(memory), "array 'x'")
    assert view.shape == (2, 3)
    assert np.shares_memory(view, memory)
    # Before 2.3, numpy takes tensors of the first DLPack protocol as read-only.
    assert view.flags.writeable or np.lib.NumpyVersion(np.__version__) < "2.3.0"


def test_dlpack_read_only() -> None:
    memory = np.arange(6, dtype=np.float32)
    memory.flags.writeable = False
    assert not as_array(Tensor(memory), "array 'x'").flags.writeable


def test_dlpack_on_another_device() -> None:
    with pytest.raises(CallError, match=r"array 'x' is a DLPack tensor on a device of type 2; exp"):
        as_array(Tensor(np.zeros(3), device=2), "array 'x'")


def test_dlpack_that_refuses() -> None:
    class Refusing(Tensor):
        def __dlpack__(self, **options: object) -> object:
            raise BufferError("it needs a gradient")

    with pytest.raises(CallError, match=r"array 'x': its DLPack export .*: it needs a gradient"):
        as_array(Refusing(np.zeros(3)), "array 'x'")


def test_negated_tensors() -> None:
    torch = pytest.importorskip("torch")
    lazy = torch.tensor([1 + 2j, 3 - 4j]).conj().imag
    with pytest.raises(CallError, match=r"array 'x' is a tensor .*; pass its \.resolve_neg\(\)"):
        as_array(lazy, "array 'x'")
    np.testing.assert_array_equal(as_array(lazy.resolve_neg(), "array 'x'"), [-2, 4])


@pytest.mark.parametrize("value", [[1.0, 2.0], 3.0, None, "text", object()])
def test_anything_else(value: object) -> None:
    with pytest.raises(
        CallError, match=rf"array 'x' is of type {type(value).__name__}; expected a numpy array"
    ):
        as_array(value, "array 'x'")


def test_masked_array() -> None:
    with pytest.raises(CallError, match=r"array 'x' is a masked array, .*pass its \.data"):
        as_array(np.ma.masked_array([1.0], [True]), "array 'x'")


def test_released_memoryview() -> None:
    released = memoryview(bytearray(4))
    released.release()
    with pytest.raises(CallError, match=r"array 'x': its buffer cannot be viewed as an array"):
        as_array(released, "array 'x'")
