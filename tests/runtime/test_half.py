"""Arrays and tensors of half types as arguments of compiled kernels."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import polysched as ps
from polysched.runtime.views import as_array

N = 20
SIGNED_INTEGER, BFLOAT = 0, 4


def doubled(dtype: ps.DType) -> ps.Kernel:
    build = ps.KernelBuilder("doubled")
    n = build.parameter("n")
    x, y = build.input("x", dtype, (n,)), build.output("y", dtype, (n,))
    with build.loops(i=n) as i:
        y[i] = 2 * x[i]
    return build.kernel()


class Tensor:
    """A tensor of bf16, as another library would export it."""

    dtype = "example.bfloat16"

    def __init__(self, array: np.ndarray[Any, Any], code: int = BFLOAT) -> None:
        self.bits = array.view(np.int16)
        self.code = code

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.bits.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        tensor = pointer(capsule, b"dltensor")
        assert tensor is not None
        kind = ctypes.c_uint8.from_address(tensor + 20)
        assert kind.value == SIGNED_INTEGER
        kind.value = self.code
        return capsule


@pytest.mark.parametrize("dtype", [ps.bf16, ps.f16], ids=str)
def test_calls_with_arrays(dtype: ps.DType) -> None:
    compiled = ps.compile(doubled(dtype))
    x = np.arange(N).astype(dtype.numpy())
    for _ in range(3):
        result = compiled(x)
        assert result.dtype == dtype.numpy()
        np.testing.assert_array_equal(result.astype(np.float32), 2 * np.arange(N))
    y = np.empty_like(x)
    compiled(x, y)
    np.testing.assert_array_equal(y.astype(np.float32), 2 * np.arange(N))
    with pytest.raises(ps.CallError, match=f"{dtype.numpy().name}"):
        compiled(x.astype(np.float32))
    with pytest.raises(ps.CallError, match="overlap"):
        compiled(x, x)


def test_tensors_of_bf16_are_viewed_in_place() -> None:
    values = np.arange(N).astype(ml_dtypes.bfloat16)
    view = as_array(Tensor(values), "x")
    assert view.dtype == values.dtype
    assert view.ctypes.data == values.ctypes.data
    result = np.empty(N, ml_dtypes.bfloat16)
    ps.compile(doubled(ps.bf16))(Tensor(values), Tensor(result))
    np.testing.assert_array_equal(result.astype(np.float32), 2 * np.arange(N))


def test_strides_and_empty_tensors() -> None:
    plane = np.arange(24).reshape(4, 6).astype(ml_dtypes.bfloat16)
    for part in (plane.T, plane[1:, ::2], plane[:0], plane[2, 3:4], plane[1:2, 2]):
        view = as_array(Tensor(part), "x")
        assert (view.shape, view.dtype) == (part.shape, part.dtype)
        np.testing.assert_array_equal(view.astype(np.float32), part.astype(np.float32))


def test_wrong_type_code_is_refused() -> None:
    with pytest.raises(ps.CallError, match="x: .* not bfloat16"):
        as_array(Tensor(np.zeros(3, ml_dtypes.bfloat16), SIGNED_INTEGER), "x")


def test_memory_outlives_the_tensor() -> None:
    view = as_array(Tensor(np.full(1000, 3, ml_dtypes.bfloat16)), "x")
    others = [np.zeros(1000, ml_dtypes.bfloat16) for _ in range(100)]
    assert len(others) == 100
    assert (view.astype(np.float32) == 3).all()


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="no versioned exports")
@pytest.mark.parametrize("writeable", [True, False])
def test_tensors_say_whether_they_are_read_only(writeable: bool) -> None:
    class Versioned(Tensor):
        def __dlpack__(self, **options: Any) -> Any:
            capsule = self.bits.__dlpack__(**options)
            pointer = ctypes.pythonapi.PyCapsule_GetPointer
            tensor = pointer(capsule, b"dltensor_versioned")
            ctypes.c_uint8.from_address(tensor + 32 + 20).value = self.code
            return capsule

    values = np.arange(N).astype(ml_dtypes.bfloat16)
    values.flags.writeable = writeable
    view = as_array(Versioned(values), "x")
    assert view.flags.writeable is writeable
    np.testing.assert_array_equal(view, values)


@pytest.mark.parametrize("dtype", [ps.bf16, ps.f16], ids=str)
def test_header_names_the_bits(dtype: ps.DType, tmp_path: Path) -> None:
    ps.export(ps.Schedule(doubled(dtype)), tmp_path / "doubled.o", header=tmp_path / "doubled.h")
    text = (tmp_path / "doubled.h").read_text()
    assert "const uint16_t *x" in text
    assert f"x: input, the bits of {dtype} in uint16_t" in text


def test_tensors_of_torch() -> None:
    torch = pytest.importorskip("torch")
    compiled = ps.compile(doubled(ps.bf16))
    x = torch.arange(N).to(torch.bfloat16)
    y = torch.empty_like(x)
    compiled(x, y)
    assert torch.equal(y, x * 2)
