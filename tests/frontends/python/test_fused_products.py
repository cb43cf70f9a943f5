"""Which functions fuse products with sums without ``fastmath``."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.frontends.python.decorator import read_kernel
from polysched.frontends.python.fused_products import only_fuses_free_sums

# ruff: noqa: F821


def chain(a: "f64[n, n]", b: "f64[n, n]"):
    return a @ b @ a


def layer(a: "f64[n, n]", b: "f64[n, n]"):
    return np.maximum((a - 1) @ b + a, 0)


def scaled(a: "f64[n, n]", b: "f64[n, n]"):
    return 2 * (a @ b)


def scaled_operand(a: "f64[n, n]", b: "f64[n, n]"):
    return (a * 2 + 1) @ b


def function_beside(a: "f64[n, n]", b: "f64[n, n]"):
    return a @ np.tanh(b)


def written_order(a: "f64[n, n]", b: "f64[n, n]"):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i, 0] * b[i, 0]
    return total


@pytest.mark.parametrize(
    ("function", "fuses"),
    [
        (chain, True),
        (layer, True),
        (scaled, False),
        (scaled_operand, False),
        (function_beside, False),
        (written_order, False),
    ],
)
def test_only_free_sums_of_products_are_fused(function: Callable[..., Any], fuses: bool) -> None:
    assert only_fuses_free_sums(read_kernel(function)) is fuses


@pytest.mark.usefixtures("as_written")
def test_strict_code_of_a_product_has_fmas() -> None:
    function = ps.jit(chain)
    a = np.random.default_rng(0).random((24, 24))
    np.testing.assert_allclose(function(a, a.T), a @ a.T @ a, rtol=1e-13)
    (code,) = function.inspect_llvm().values()
    assert "contract" in code
