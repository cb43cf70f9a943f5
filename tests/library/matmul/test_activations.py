import math

import numpy as np
import pytest

from polysched.ir.semantics.memory import AnyArray
from polysched.library.matmul.activations import ACTIVATIONS, OF_INTEGERS
from polysched.library.matmul.call import matmul


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


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", ACTIVATIONS)
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
