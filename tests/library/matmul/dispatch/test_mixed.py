"""Products of operands of different types, and scaled products of integers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError
from polysched.ir.expr.functions import cast
from polysched.ir.semantics.memory import AnyArray
from tests.support.effort import covering, sampled

SHAPES = [(1, 33, 17), (5, 7, 3), (37, 50, 71), (70, 1, 60), (20, 40, 129)]


def numbers(*shape: int, dtype: Any = "i1", seed: int = 0) -> AnyArray:
    generator = np.random.default_rng(seed + sum(shape))
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return generator.integers(-8, 9, shape).astype(dtype)


@covering(1, shape=SHAPES, types=[("i1", "u1"), ("u1", "i1"), ("u1", "u1"), ("i1", "i1")])
def test_bytes_of_either_sign_are_summed_exactly(
    shape: tuple[int, int, int], types: tuple[str, str]
) -> None:
    m, n, k = shape
    a, b = numbers(m, k, dtype=types[0]), numbers(n, k, dtype=types[1]).T
    expected = a.astype("i4") @ b.astype("i4")
    np.testing.assert_array_equal(ps.matmul(a, b), expected, strict=True)
    np.testing.assert_array_equal(ps.matmul(a, b, dtype="f32"), expected.astype("f4"), strict=True)


@pytest.mark.parametrize(
    "types", ["f4 f8", "f8 f4", "f4 i1", "f2 f4", "i4 f4", "i2 i4", "f2 i1", "f4 ?"]
)
def test_types_are_promoted_as_in_numpy(types: str) -> None:
    left, right = types.split()
    a, b = (numbers(9, 8) // 16).astype(left), (numbers(8, 7) // 16).astype(right)
    expected = a.astype("f8") @ b.astype("f8")
    np.testing.assert_array_equal(
        ps.matmul(a, b), expected.astype(np.result_type(a, b)), strict=True
    )


def test_a_bf16_operand_by_computed_weights() -> None:
    x, codes = numbers(6, 64, dtype=ml_dtypes.bfloat16), numbers(10, 64) // 16
    scales = 2.0 ** numbers(10, 2, dtype="f4")
    weights = ps.computed(
        lambda code, scale: cast(code, "f32") * scale, codes, ps.Input(scales, block=(1, 32))
    )
    expected = x.astype("f4") @ (codes * scales.repeat(32, axis=1)).T
    np.testing.assert_array_equal(ps.matmul(x, weights.T), expected, strict=True)
    rounded = ps.matmul(x, weights.T, dtype="bf16")
    np.testing.assert_array_equal(rounded, expected.astype(ml_dtypes.bfloat16), strict=True)
    narrow = ps.computed(lambda code: cast(code, "bf16"), codes)
    wide = x.astype("f4")
    np.testing.assert_array_equal(ps.matmul(wide, narrow.T), wide @ codes.T.astype("f4"))


@pytest.mark.parametrize("shape", sampled(SHAPES, 4))
def test_scaled_products_of_integers(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    a, b = numbers(m, k), numbers(k, n)
    rows, columns = 2.0 ** numbers(m, 1, dtype="f4"), 2.0 ** numbers(n, dtype="f4")
    bias, sums = numbers(n, dtype="f4"), (a.astype("i4") @ b.astype("i4")).astype("f4")
    half = columns.astype(np.float16)
    for scale, factors in (
        (columns, columns),
        (rows, rows),
        (0.5, np.float32(0.5)),
        ((rows, columns), rows * columns),
        ((rows, half), rows * columns),
    ):
        result = ps.matmul(a, b, scale=scale)
        np.testing.assert_array_equal(result, sums * factors, strict=True)
    expected = np.maximum(sums * rows * columns * 2 + bias, 0)
    for _ in range(2):
        result = ps.matmul(a, b, scale=(rows, columns), alpha=2, bias=bias, activation="relu")
        np.testing.assert_allclose(result, expected, rtol=1e-6)
    wide = ps.matmul(a, b, scale=columns.astype("f8"), dtype="f64")
    np.testing.assert_array_equal(wide, sums * columns.astype("f8"), strict=True)


def test_a_scale_is_no_bias() -> None:
    """Calls with the same arrays in other roles are other kinds."""
    a, b, vector = numbers(5, 6, dtype="f4"), numbers(6, 7, dtype="f4"), numbers(7, dtype="f4")
    for _ in range(2):
        np.testing.assert_array_equal(ps.matmul(a, b, scale=vector), a @ b * vector)
        np.testing.assert_array_equal(ps.matmul(a, b, bias=vector), a @ b + vector)
        expected = a @ b * vector + vector
        np.testing.assert_array_equal(ps.matmul(a, b, scale=vector, bias=vector), expected)
        expected = a @ b * vector * vector
        np.testing.assert_array_equal(ps.matmul(a, b, scale=(vector, vector)), expected)
    empty = ps.matmul(a[:, :0], b[:0], scale=vector, bias=vector)
    np.testing.assert_array_equal(empty, np.tile(vector, (5, 1)))


ONE = np.ones((4, 4), np.float32)
BYTES = ONE.astype(np.int8)


@pytest.mark.parametrize(
    ("operands", "options", "message"),
    [
        (
            (ONE, ONE),
            {"scale": ONE[0, :3]},
            r"scale has shape \(3,\); expected \(4,\), or \(4, 1\)",
        ),
        (
            (ONE, ONE),
            {"scale": ONE[0].astype("f8")},
            "scale has elements of type float64; expected",
        ),
        ((ONE, ONE), {"scale": (ONE[0],) * 3}, "scale= has 3 arrays; expected one, or one for"),
        ((ONE, ONE), {"scale": 1e39}, r"scale is 1e\+39; expected a number within the range"),
        ((ONE, ONE), {"scale": "2"}, "scale is of type str; expected a numpy array"),
        ((BYTES, BYTES), {"scale": 2, "dtype": "i32"}, "scale= is for floating-point results"),
        (
            (BYTES, BYTES),
            {"scale": 2, "bias": BYTES[0]},
            "bias has elements of type int8; expected",
        ),
        ((ONE, ONE.astype("M8[s]")), {}, "no type holds both; expected types that numpy promotes"),
        (
            (ONE.astype(np.float16), ONE.astype(ml_dtypes.bfloat16)),
            {},
            "'a' has elements of type float16 and 'b' of type bfloat16, and no type holds both",
        ),
        ((ONE.astype("u2"), ONE.astype("u2")), {}, "elements of type uint16; expected float32"),
    ],
)
def test_errors(operands: Any, options: Any, message: str) -> None:
    with pytest.raises(CallError, match=message):
        ps.matmul(*operands, **options)
