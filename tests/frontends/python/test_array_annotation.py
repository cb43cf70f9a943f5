"""``Array[...]`` and ``Annotated[NDArray[...], ...]`` as annotations."""

import inspect
from typing import Annotated

import numpy as np
import pytest
from numpy.typing import NDArray

import polysched as ps
from polysched.errors import FrontendError


@ps.kernel
def bordered(
    x: Annotated[NDArray[np.float32], "h", "w"],
    y: Annotated[NDArray[np.float32], "h + 2", "w + 2"],
    scale: float,
) -> None:
    y[1:-1, 1:-1] = x * np.float32(scale)


def test_annotated_arrays_of_numpy() -> None:
    y = np.zeros((4, 5), np.float32)
    bordered(np.ones((2, 3), np.float32), y, 3.0)
    assert y.sum() == 18
    assert [str(array.shape) for array in bordered.arrays.values()][1].count("2") == 2
    assert list(inspect.signature(bordered).parameters) == ["x", "y", "scale"]


def test_arrays_of_polysched() -> None:
    def function(x: ps.Array[ps.f32, "n", 3], y: ps.Array[ps.i64, "n - 1"]):  # noqa: F821
        y[:] = x[1:, 2]

    kernel = ps.kernel(function)
    assert str(kernel.arrays["x"].shape[1]) == "3"
    y = np.zeros(1, np.int64)
    kernel(np.full((2, 3), 7, np.float32), y)
    assert y[0] == 7


def test_an_array_in_one_string() -> None:
    def function(x: ps.Array["f32[n, 3]"], a: ps.Array[ps.f32], b: ps.Array["f64"]):  # type: ignore  # noqa: F821
        x[:] = a

    kernel = ps.kernel(function)
    assert [str(array.shape[-1]) for array in kernel.arrays.values() if array.shape] == ["3"]
    assert [array.dtype for array in kernel.arrays.values()] == [ps.f32, ps.f32, ps.f64]


def test_a_wrong_part_is_shown() -> None:
    def function(x: Annotated[NDArray[np.complex64], "n"]):
        x[0] = 1

    with pytest.raises(FrontendError, match="complex numbers .complex64. are not supported"):
        ps.kernel(function)
