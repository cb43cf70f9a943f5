from itertools import product

import numpy as np
import pytest

from polysched.bench.conv.work import (
    ConvolutionData,
    ConvolutionSize,
    random_data,
    reference,
    tolerance,
)
from polysched.errors import BenchError

TINY = ConvolutionSize(images=2, rows=3, columns=4, channels_in=5, channels_out=2)


def as_written(data: ConvolutionData) -> np.ndarray:
    """The kernel's three statements, instance by instance."""
    size = data.size
    out = np.empty(size.output_shape)
    for n, y, x, c in np.ndindex(*size.output_shape):
        total = float(data.bias[c])
        for rz, ry, rx in product(range(3), range(3), range(size.channels_in)):
            total += float(data.filter[rx, rz, ry, c]) * float(data.input[n, y + rz, x + ry, rx])
        out[n, y, x, c] = max(0.0, total)
    return out


def test_the_reference_is_the_kernel_as_written() -> None:
    data = random_data(TINY)
    expected = as_written(data)
    np.testing.assert_allclose(reference(data), expected, rtol=0, atol=1e-13)
    assert (expected == 0).any()
    assert (expected > 0).any()


def test_the_tutorials_work() -> None:
    assert ConvolutionSize().flops == 5 * 80 * 100 * 128 * (2 * 9 * 128 + 2) == 11_806_720_000


def test_the_data_have_the_kernels_shapes() -> None:
    data = random_data(TINY)
    assert data.input.shape == (2, 5, 6, 5)
    assert data.filter.shape == (5, 3, 3, 2)
    assert data.bias.shape == (2,)
    for array in (data.input, data.filter, data.bias):
        assert array.dtype == np.float32
        assert array.ctypes.data % 128 == 0
        assert array.min() >= -1
        assert array.max() < 1


def test_the_data_follow_from_the_seed() -> None:
    assert np.array_equal(random_data(TINY, 3).input, random_data(TINY, 3).input)
    assert not np.array_equal(random_data(TINY, 3).input, random_data(TINY, 4).input)


def test_the_tolerance_lets_rounding_pass_and_a_missing_product_not() -> None:
    size = ConvolutionSize(images=1, rows=8, columns=8, channels_in=128, channels_out=16)
    data = random_data(size)
    expected = reference(data)
    # The sum in the worst order there is for rounding: one after the other, in float32.
    windows = np.lib.stride_tricks.sliding_window_view(data.input, (3, 3), axis=(1, 2))
    total = np.broadcast_to(data.bias, size.output_shape).copy()
    for rx, rz, ry in product(range(128), range(3), range(3)):
        total += windows[:, :, :, rx, rz, ry, None] * data.filter[rx, rz, ry]
    rounding = np.abs(np.maximum(total, 0) - expected).max()
    total -= windows[:, :, :, 0, 0, 0, None] * data.filter[0, 0, 0]
    missing = np.abs(np.maximum(total, 0) - expected).max()
    assert rounding < tolerance(size) < missing


@pytest.mark.parametrize("name", ["images", "rows", "columns", "channels_in", "channels_out"])
def test_an_empty_convolution_is_refused(name: str) -> None:
    with pytest.raises(BenchError, match=f"convolution size: {name} must be at least 1, got 0"):
        ConvolutionSize(**{name: 0})
