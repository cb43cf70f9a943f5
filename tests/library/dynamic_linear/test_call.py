"""``ps.matmul`` with a prepared matrix: rows are rounded to 8 bits."""

from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.library.dynamic_linear import call
from tests.support.effort import covering

NumpyArray = np.ndarray[Any, Any]


def layer(
    columns: int, terms: int, group: int, dtype: str = "i4", seed: int = 0
) -> tuple[ps.Computed, NumpyArray]:
    """A right operand, and the matrix that it stands for."""
    random = np.random.default_rng(seed)
    bits, is_signed = int(dtype[1:]), dtype[0] == "i"
    lowest = -(1 << (bits - 1)) if is_signed else 0
    codes = random.integers(lowest, lowest + (1 << bits), (columns, terms))
    codes = codes.astype(np.int8 if is_signed else np.uint8)
    scales = random.uniform(0.5, 1, (columns, -(-terms // group))).astype(np.float32)
    stored: Any = codes
    if bits < 8:
        packed = ps.pack_bits(codes, dtype, rows="padded", overflow="raise")
        stored = ps.Input(packed, dtype, columns=terms)
    block = (1, group) if scales.shape[1] > 1 else (1, 1)
    weights = ps.computed(
        lambda code, scale: scale * ps.cast(code, "f32"), stored, ps.Input(scales, block=block)
    )
    return weights.T, (codes * scales.repeat(group, axis=1)[:, :terms]).T.astype(np.float64)


def rounded(x: NumpyArray) -> NumpyArray:
    """Rows as a product sees them."""
    scale = np.abs(x).max(axis=-1, keepdims=True) / np.float32(127)
    return np.rint(x / scale).astype(np.float64) * scale


def assert_product(
    y: NumpyArray, x: NumpyArray, matrix: NumpyArray, activation: Any = None
) -> None:
    """``y`` is the product of the rounded rows up to the rounding errors of f32."""
    right = rounded(x) @ matrix
    error = 1e-5 * (np.abs(rounded(x)) @ np.abs(matrix))
    right = right if activation is None else activation(right)
    assert (np.abs(y - right) <= error + 1e-6).all()


@covering(
    1,
    rows=[(1, 100), (1, 5), (1, 7)],
    **{
        "columns, terms, group, dtype": [
            (70, 96, 32, "i4"),
            (64, 130, 130, "i8"),
            (3, 50, 16, "u4"),
            (65, 1100, 600, "u8"),
            (20, 30, 6, "i3"),
        ]
    },
)
def test_shapes_and_groups(
    rows: tuple[int, ...], columns: int, terms: int, group: int, dtype: str
) -> None:
    weights, matrix = layer(columns, terms, group, dtype)
    prepared = ps.prepare(weights, activations="int8")
    assert prepared.shape == (terms, columns)
    for count in rows:
        x = np.random.default_rng(1).standard_normal((count, terms)).astype(np.float32)
        assert_product(ps.matmul(x, prepared, threads=1), x, matrix)


def test_stacks_and_views(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call, "ROWS", 4)
    weights, matrix = layer(130, 64, 32)
    prepared = ps.prepare(weights, activations="int8")
    x = np.random.default_rng(1).standard_normal((64, 2, 3, 7)).astype(np.float32).T[:, ::2]
    y = ps.matmul(x, prepared)
    assert y.shape == (7, 2, 2, 130)
    assert_product(y, x, matrix)
    out = np.zeros((130, 2, 2, 7), np.float32).T
    assert ps.matmul(x, prepared, out) is out
    np.testing.assert_array_equal(out, y)
    assert ps.matmul(x[0, 0, 0], prepared).shape == (130,)
    assert ps.matmul(x[:0], prepared).shape == (0, 2, 2, 130)


@pytest.mark.parametrize("rows", [1, 40])
def test_threads_share_the_columns(rows: int) -> None:
    weights, matrix = layer(1000, 2048, 128)
    prepared = ps.prepare(weights, activations="int8")
    x = np.random.default_rng(1).standard_normal((rows, 2048)).astype(np.float32)
    y = ps.matmul(x, prepared, threads=2)
    assert_product(y, x, matrix)
    np.testing.assert_array_equal(y, ps.matmul(x, prepared, threads=1))


def test_bias_and_activation() -> None:
    weights, matrix = layer(70, 64, 64, "i8")
    prepared = ps.prepare(weights, activations="int8")
    x = np.random.default_rng(1).standard_normal((3, 64)).astype(np.float32)
    bias = np.linspace(-500, 500, 70, dtype=np.float32)
    y = ps.matmul(x, prepared, bias=bias, activation="relu")
    assert_product(y, x, matrix, lambda sums: np.maximum(sums + bias, 0))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_types(dtype: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    half = np.dtype(np.float16 if dtype == "float16" else ml_dtypes.bfloat16)
    weights, _ = layer(70, 64, 32)
    prepared = ps.prepare(weights, activations="int8")
    x = np.random.default_rng(1).standard_normal((3, 64)).astype(half)
    y = ps.matmul(x, prepared)
    assert y.dtype == half
    np.testing.assert_array_equal(y, ps.matmul(x.astype(np.float32), prepared).astype(half))


def test_tensors_give_tensors() -> None:
    torch = pytest.importorskip("torch")
    prepared = ps.prepare(layer(70, 64, 32)[0], activations="int8")
    x = torch.ones(2, 64)
    y = ps.matmul(x, prepared)
    assert isinstance(y, torch.Tensor)
    np.testing.assert_array_equal(y.numpy(), ps.matmul(x.numpy(), prepared))


def test_rows_with_nan_or_infinity_become_nan() -> None:
    prepared = ps.prepare(layer(70, 64, 32)[0], activations="int8")
    x = np.ones((8, 64), np.float32)
    x[2, 5], x[4, 63], x[6] = np.nan, np.inf, 0
    y = ps.matmul(x, prepared)
    np.testing.assert_array_equal(np.isnan(y).all(axis=1), [row in (2, 4) for row in range(8)])
    assert not np.isnan(y[[0, 1, 3, 5, 6, 7]]).any()
    assert not y[6].any()


def test_later_changes_of_the_codes_have_no_effect() -> None:
    codes = np.ones((4, 8), np.int8)
    weights = ps.computed(lambda code: ps.cast(code, "f32"), codes)
    prepared = ps.prepare(weights.T, activations="int8")
    codes[:] = 2
    x = np.ones((1, 8), np.float32)
    np.testing.assert_allclose(ps.matmul(x, prepared), 8, rtol=1e-6)
    np.testing.assert_allclose(ps.matmul(x, weights.T), 16)


PREPARED = ps.prepare(layer(70, 64, 32)[0], activations="int8")
ROWS = np.ones((2, 64), np.float32)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((ROWS[:, :63], PREPARED), {}, "expected 64 elements in a row of 'a'"),
        ((ROWS.astype(np.float64), PREPARED), {}, "expected float32, float16 or bfloat16"),
        ((ROWS, PREPARED), {"alpha": 2}, "are not for a prepared 'b'"),
        ((ROWS, PREPARED), {"dtype": "f32"}, "are not for a prepared 'b'"),
        ((ROWS, PREPARED), {"bias": np.ones(64, np.float32)}, "bias has shape"),
        ((ROWS, PREPARED), {"activation": "gelu"}, "there is no activation 'gelu'"),
        ((ROWS, PREPARED, np.ones((2, 64), np.float32)), {}, "out has shape"),
        ((ROWS, PREPARED, np.broadcast_to(np.float32(0), (2, 70))), {}, "out is read-only"),
        ((ROWS, PREPARED), {"threads": 0}, "threads"),
    ],
)
def test_bad_arguments(arguments: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ps.CallError, match=message):
        ps.matmul(*arguments, **options)


def test_out_must_not_overlap_the_rows() -> None:
    prepared = ps.prepare(layer(64, 64, 32)[0], activations="int8")
    x = np.ones((2, 64), np.float32)
    with pytest.raises(ps.CallError, match="'a' and 'out' overlap"):
        ps.matmul(x, prepared, x)


@pytest.mark.parametrize(
    ("weight", "options", "message"),
    [
        (np.ones((4, 4), np.int8), {"activations": "int8"}, "of type ndarray"),
        (layer(70, 64, 32)[0], {}, "expected activations='int8'"),
        (layer(70, 64, 32)[0], {"activations": "int4"}, "expected activations='int8'"),
        (layer(70, 64, 32)[0], {"activations": "int8", "groups": 2}, "are for the weights of a"),
    ],
)
def test_bad_weights(weight: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ps.CallError, match=message):
        ps.prepare(weight, **options)
