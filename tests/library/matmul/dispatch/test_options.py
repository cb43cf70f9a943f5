import numpy as np
import pytest

from polysched.errors import CallError
from polysched.ir.expr.dtypes import DType, f16, f32, i8, i32
from polysched.library.matmul.dispatch.options import (
    CallOptions,
    call_options,
    element_type,
    epilogue_of,
    number,
    require_activation,
    require_activation_of,
    require_bias,
    result_type,
    scalar,
    spread,
)
from polysched.library.matmul.kernel.epilogue import PLAIN, Epilogue, Factor


@pytest.mark.parametrize(("name", "dtype"), [("f4", f32), ("f2", f16), ("i1", i8)])
def test_element_type(name: str, dtype: DType) -> None:
    assert element_type(np.dtype(name), np.dtype(name)) == dtype


def test_bytes_of_either_sign_have_one_element_type() -> None:
    assert element_type(np.dtype("u1"), np.dtype("i1")) == i8
    with pytest.raises(CallError, match="type uint8 and 'b' of type int16; expected one type"):
        element_type(np.dtype("u1"), np.dtype("i2"))


@pytest.mark.parametrize("name", ["u2", "?", "c8", "U3"])
def test_no_element_type(name: str) -> None:
    with pytest.raises(CallError, match="expected float32, .*, uint8 or a signed integer"):
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


F32, I8 = np.dtype("f4"), np.dtype("i1")


def asked(
    alpha: object = 1, beta: object = 0, dtype: np.dtype = F32, **options: object
) -> CallOptions:
    given = {"activation": None, "threads": None, **options}
    return call_options(alpha, beta, types=(dtype, dtype), **given)


def test_calls_that_differ_in_numbers_are_of_one_kind() -> None:
    assert asked(2).kind is asked(0.5).kind is asked(np.float32(3)).kind
    assert asked(2).kind is not asked(2, 2).kind
    assert asked(2).kind is not asked(2, threads=1).kind
    assert asked(2).kind is not asked(2, activation="relu").kind
    assert asked(2).kind is not asked(1).kind


def test_a_plain_product_is_of_the_kind_of_its_threads() -> None:
    """By which the shortest way knows it, that asks nothing."""
    for threads in (None, 1, 2):
        assert asked(1.0, 0.0, threads=threads).kind is threads
        assert asked(1.0, 0.0, threads=threads).epilogue == PLAIN


def test_factors_are_arrays_of_the_sums_type() -> None:
    found = asked(3, -2, I8)
    assert found.epilogue.alpha is found.epilogue.beta is Factor.ANY
    assert [factor.dtype for factor in found.factors] == [np.int32, np.int32]
    assert [factor[()] for factor in found.factors] == [3, -2]
    assert asked(3, 1).factors == (np.float32(3),)


def test_numbers_that_are_equal_are_told_apart_by_type() -> None:
    assert asked(3, dtype=I8).factors == (3,)
    with pytest.raises(CallError, match="alpha is 3.0; expected an integer, since the result has"):
        asked(3.0, dtype=I8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": "x"}, "alpha is 'x' of type str; expected a real number"),
        ({"beta": True}, "beta is True of type bool; expected a real number"),
        ({"activation": "rleu"}, "there is no activation 'rleu'"),
        ({"alpha": 1e39}, "alpha is 1e\\+39; expected a number within the range of float32"),
        ({"dtype": np.dtype("u2")}, "the operands have elements of type uint16"),
    ],
)
def test_errors(options: dict[str, object], message: str) -> None:
    with pytest.raises(CallError, match=message):
        asked(**options)


def test_result_type() -> None:
    for operands, wanted, expected in (
        (f32, None, f32),
        (f16, None, f16),
        (f16, f32, f32),
        (i8, None, i32),
        (i8, i32, i32),
    ):
        assert result_type(operands, wanted) == expected
    with pytest.raises(CallError, match="expected i32"):
        result_type(i8, i8)
