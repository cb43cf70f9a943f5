import sys
from typing import Any

import numpy as np
import pytest

from polysched.errors import KernelError
from polysched.ir.expr import dtypes
from polysched.ir.expr.dtypes import (
    ALL_DTYPES,
    ODD_DTYPES,
    DType,
    as_dtype,
    bf16,
    boolean,
    f16,
    f32,
    f64,
    i8,
    i64,
    u16,
)


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
        (np.dtype(">i4"), r"unknown element type dtype\('>i4'\); convert with .astype\('int32'\)"),
        (np.dtype("longdouble"), r"convert with .astype\('float64'\)"),
        ("i33", "element type 'i33' has 33 bits; integers have 1 to 32 bits, or 64"),
        ("u0", "element type 'u0' has 0 bits"),
        ("i65", "element type 'i65' has 65 bits"),
        ("u04", "element type 'u04' has 04 bits; integers have 1 to"),
        ("a", "unknown element type 'a'"),
        ("no such type", "unknown element type 'no such type'; known are 'bf16', 'bool', 'f16'"),
    ],
)
def test_unknown_types(what: str | np.dtype[Any], message: str) -> None:
    with pytest.raises(KernelError, match=message):
        as_dtype(what)


@pytest.mark.parametrize("dtype", ODD_DTYPES, ids=str)
def test_odd_widths_lie_in_the_next_larger_type(dtype: DType) -> None:
    assert as_dtype(dtype.name) is dtype
    assert dtype.is_odd_width
    assert not dtype.container.is_odd_width
    assert dtype.bits < dtype.container.bits <= max(8, 2 * dtype.bits)
    assert dtype.numpy() == dtype.container.numpy()
    assert dtype.numpy().itemsize == dtype.bytes
    assert dtype.highest - dtype.lowest == 2**dtype.bits - 1


def test_short_names_count_bits() -> None:
    assert as_dtype("i4").bits == 4
    assert as_dtype(np.dtype("i4")).bits == 32


def test_half_types() -> None:
    for dtype, bits in ((bf16, "bfloat16"), (f16, "float16")):
        assert dtype.is_half
        assert dtype.is_float
        assert dtype.bytes == 2
        assert dtype.arithmetic == f32
        assert as_dtype(bits) == as_dtype(dtype.numpy()) == as_dtype(dtype.name) == dtype
        assert dtype.numpy().name == bits
    assert not f32.is_half


def test_bf16_in_numpy_needs_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    monkeypatch.setattr(dtypes, "_numpy_bfloat16", dtypes._numpy_bfloat16.__wrapped__)
    assert as_dtype("bf16").bytes == 2
    with pytest.raises(KernelError, match="pip install ml_dtypes"):
        bf16.numpy()
    assert f16.numpy() == np.float16
