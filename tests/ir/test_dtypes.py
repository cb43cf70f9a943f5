import numpy as np
import pytest

from polysched.errors import KernelError
from polysched.ir.dtypes import ALL_DTYPES, DType, as_dtype, boolean, f32, f64, i8, i64, u16


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_names_and_numpy_types_lead_back(dtype: DType) -> None:
    assert as_dtype(dtype.name) is dtype
    assert as_dtype(dtype.numpy()) is dtype
    assert as_dtype(dtype) is dtype
    assert dtype.numpy().itemsize == dtype.bytes
    assert str(dtype) == dtype.name


@pytest.mark.parametrize(
    ("dtype", "is_float", "is_integer", "is_signed"),
    [
        (f32, True, False, False),
        (i8, False, True, True),
        (u16, False, True, False),
        (boolean, False, False, False),
    ],
    ids=str,
)
def test_kinds(dtype: DType, is_float: bool, is_integer: bool, is_signed: bool) -> None:
    assert (dtype.is_float, dtype.is_integer, dtype.is_signed) == (is_float, is_integer, is_signed)


def test_numpy_names_and_python_types() -> None:
    assert as_dtype("float32") is f32
    assert as_dtype(np.int64) is i64
    assert as_dtype(float) is f64
    assert as_dtype(bool) is boolean


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("f23", r"unknown element type 'f23'; did you mean 'f32'\?"),
        ("complex64", "unknown element type 'complex64'"),
        ("no such type", "unknown element type 'no such type'; known are 'bool', 'f32'"),
    ],
)
def test_unknown_types(what: str, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        as_dtype(what)
