import math

import numpy as np
import pytest

from polysched.ir.expr.dtypes import f32, i32
from polysched.ir.semantics.memory import AnyArray
from polysched.library.matmul.dispatch.call import matmul
from polysched.library.matmul.kernel.declare import Sizes, matmul_kernel
from polysched.library.matmul.kernel.epilogue import (
    ACTIVATIONS,
    OF_INTEGERS,
    PLAIN,
    Bias,
    Epilogue,
    Factor,
    epilogue_builder,
    epilogue_kernel,
)
from polysched.lower import compile
from polysched.user import Schedule
from tests.library.matmul.products import operands, product
from tests.support.differential import NO_CACHE
from tests.support.effort import covering

SIZES = Sizes(3, 5, 4)


def test_nothing_to_do() -> None:
    for epilogue in (PLAIN, Epilogue(beta=Factor.ONE)):
        assert epilogue.is_plain
        assert epilogue_builder(epilogue, SIZES, f32) is None
    assert not PLAIN.updates
    assert Epilogue(beta=Factor.ONE).updates


@pytest.mark.parametrize(
    "epilogue",
    [
        Epilogue(Factor.ANY),
        Epilogue(Factor.ZERO),
        Epilogue(beta=Factor.ANY),
        Epilogue(bias=Bias.ROWS),
        Epilogue(activation="relu"),
    ],
)
def test_something_to_do(epilogue: Epilogue) -> None:
    assert not epilogue.is_plain
    assert epilogue_builder(epilogue, SIZES, f32) is not None


def test_turned() -> None:
    assert Epilogue(bias=Bias.ROWS).transposed == Epilogue(bias=Bias.COLUMNS)
    assert Epilogue(bias=Bias.COLUMNS).transposed == Epilogue(bias=Bias.ROWS)
    assert PLAIN.transposed == PLAIN


def test_only_what_is_asked_for_is_an_argument() -> None:
    epilogue = Epilogue(Factor.ANY, Factor.ANY, Bias.ROWS, "relu")
    kernel = matmul_kernel(
        *SIZES[:3], accumulate=True, epilogue=epilogue_builder(epilogue, SIZES, f32)
    )
    assert list(kernel.arrays) == ["a", "b", "alpha", "beta", "bias", "out", "sums"]
    epilogue = Epilogue(bias=Bias.COLUMNS)
    kernel = matmul_kernel(*SIZES[:3], epilogue=epilogue_builder(epilogue, SIZES, f32))
    assert list(kernel.arrays) == ["a", "b", "bias", "out", "sums"]


def test_epilogue() -> None:
    epilogue = Epilogue(Factor.ANY, Factor.ANY, Bias.ROWS, "relu")
    kernel = matmul_kernel(
        *SIZES[:3], accumulate=True, epilogue=epilogue_builder(epilogue, SIZES, f32)
    )
    a, b = operands(SIZES)
    bias, out = np.arange(3, dtype="f4"), np.ones((3, 5), "f4")
    run = compile(Schedule(kernel), cache=NO_CACHE)
    run(a, b, np.array(2, "f4"), np.array(3, "f4"), bias, out)
    np.testing.assert_array_equal(out, np.maximum(2 * product(a, b) + 3 + bias[:, None], 0))


@pytest.mark.parametrize("beta", Factor)
def test_without_terms(beta: Factor) -> None:
    run = compile(Schedule(epilogue_kernel(Epilogue(beta=beta), SIZES, i32)), cache=NO_CACHE)
    out = np.full((1, 3, 5), 7, "i4")
    factors = [np.array(2, "i4")] if beta is Factor.ANY else []
    run(*factors, out)
    assert (out == {Factor.ZERO: 0, Factor.ONE: 7, Factor.ANY: 14}[beta]).all()


def test_nothing_of_the_product() -> None:
    epilogue = Epilogue(Factor.ZERO, bias=Bias.COLUMNS, activation="relu")
    kernel = epilogue_kernel(epilogue, SIZES, f32)
    assert list(kernel.arrays) == ["bias", "out"]
    bias = np.array([-1, 2, -3, 4, -5], "f4")
    out = compile(Schedule(kernel), cache=NO_CACHE)(bias)
    np.testing.assert_array_equal(out, np.tile(np.maximum(bias, 0), (1, 3, 1)))


def expected(name: str, value: AnyArray) -> AnyArray:
    """As the functions are defined, in float64."""
    value = value.astype(np.float64)
    sigmoid = 1 / (1 + np.exp(-value))
    cubed = value + 0.044715 * value**3
    found: AnyArray = {
        "gelu_tanh": value / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * cubed)),
        "relu": np.maximum(value, 0),
        "sigmoid": sigmoid,
        "silu": value * sigmoid,
        "tanh": np.tanh(value),
    }[name]
    return found


@covering(1, dtype=["f4", "f8"], name=ACTIVATIONS)
def test_of_products(name: str, dtype: str) -> None:
    generator = np.random.default_rng(3)
    a = generator.standard_normal((5, 12)).astype(dtype)
    b = generator.standard_normal((12, 35)).astype(dtype)
    limits = {"rtol": 2e-5, "atol": 1e-6} if dtype == "f4" else {"rtol": 1e-12, "atol": 1e-14}
    np.testing.assert_allclose(matmul(a, b, activation=name), expected(name, a @ b), **limits)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_far_from_zero(name: str) -> None:
    ends = np.array([[-1e4, -100, -0.0, 0, 100, 1e4]], np.float32)
    found = matmul(np.ones((1, 1), np.float32), ends, activation=name)
    with np.errstate(over="ignore"):
        right = expected(name, ends)
    np.testing.assert_allclose(found, right, rtol=1e-6, atol=1e-30)


def test_of_integers() -> None:
    a, b = np.array([[1, -1]], np.int8), np.array([[2, -3], [3, 3]], np.int8)
    for name in OF_INTEGERS:
        np.testing.assert_array_equal(matmul(a, b, activation=name), expected(name, a @ b))
