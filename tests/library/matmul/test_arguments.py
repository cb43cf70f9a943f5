import numpy as np
import pytest

from polysched.errors import CallError
from polysched.ir.expr.dtypes import DType, f32, i8
from polysched.library.matmul.arguments import (
    element_type,
    epilogue_of,
    number,
    require_activation,
    require_activation_of,
    require_bias,
    scalar,
    spread,
)
from polysched.library.matmul.epilogue import PLAIN, Epilogue, Factor


@pytest.mark.parametrize(("name", "dtype"), [("f4", f32), ("i1", i8)])
def test_element_type(name: str, dtype: DType) -> None:
    assert element_type(np.dtype(name), np.dtype(name)) == dtype


@pytest.mark.parametrize("name", ["u1", "?", "c8", "f2", "U3"])
def test_no_element_type(name: str) -> None:
    with pytest.raises(CallError, match="expected float32, float64 or a signed integer"):
        element_type(np.dtype(name), np.dtype(name))


def test_epilogue() -> None:
    assert epilogue_of(1, 0, None) == epilogue_of(1.0, 0.0, None) == PLAIN
    assert epilogue_of(0, 1, None) == Epilogue(Factor.ZERO, Factor.ONE)
    nan = float("nan")
    assert epilogue_of(nan, -1, "relu") == Epilogue(Factor.ANY, Factor.ANY, activation="relu")


def test_activation() -> None:
    require_activation("relu")
    with pytest.raises(CallError, match="there is no activation 'mish'; known are 'gelu_tanh', "):
        require_activation("mish")


def test_activations_of_integers() -> None:
    require_activation_of("relu", np.dtype("int32"))
    require_activation_of("tanh", np.dtype("float64"))
    with pytest.raises(CallError, match="'tanh' of sums of type int32; integers have 'relu' only"):
        require_activation_of("tanh", np.dtype("int32"))


@pytest.mark.parametrize("value", [2, 2.0, np.int8(2), np.float32(2), np.array(2)])
def test_number(value: object) -> None:
    assert number("alpha", value) == 2


@pytest.mark.parametrize("value", [None, "2", 2j, True, np.bool_(True), np.ones(1), [2]])
def test_no_number(value: object) -> None:
    with pytest.raises(CallError, match=r"matmul: alpha is .* of type .*; expected a real number"):
        number("alpha", value)


@pytest.mark.parametrize("value", [0.1, -3, float("inf"), float("nan")])
def test_scalar(value: float) -> None:
    found = scalar("beta", value, np.dtype("f4"))
    assert (found.shape, found.dtype) == ((), np.dtype("f4"))
    np.testing.assert_array_equal(found, np.float32(value))


@pytest.mark.parametrize(
    ("value", "dtype", "message"),
    [
        (1e39, "f4", r"beta is 1e\+39; expected a number within the range of float32"),
        (-(10**400), "f8", "expected a number within the range of float64"),
        (2**31, "i4", "beta is 2147483648; expected a number within the range of int32"),
        (-(2**31) - 1, "i4", "expected a number within the range of int32"),
        (1.5, "i4", "beta is 1.5; expected an integer, since the result has elements of type"),
    ],
)
def test_no_scalar(value: float, dtype: str, message: str) -> None:
    with pytest.raises(CallError, match=message):
        scalar("beta", value, np.dtype(dtype))


def test_bias() -> None:
    require_bias(np.ones(2), np.dtype("f8"))
    with pytest.raises(CallError, match="bias has elements of type float64; expected float32"):
        require_bias(np.ones(2), np.dtype("f4"))


@pytest.mark.parametrize(
    ("bias", "length", "times", "expected"),
    [
        ([7], 3, 1, [7, 7, 7]),
        ([1, 2], 6, 3, [1, 2, 1, 2, 1, 2]),
        ([[1], [2]], 4, 2, [1, 2, 1, 2]),
    ],
)
def test_spread(bias: list, length: int, times: int, expected: list[int]) -> None:
    found = spread(np.array(bias), length, times)
    assert found.flags.owndata or found.base.flags.owndata
    np.testing.assert_array_equal(found, expected)
