"""``ps.conv2d`` with weights prepared for Winograd's algorithm."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError
from polysched.library.convolution.arguments import Options, checked
from polysched.library.convolution.call import convolution_code
from polysched.library.convolution.winograd_plan import tile_groups
from polysched.runtime.array_layout import layout_of
from tests.library.convolution.test_call import NumpyArray, exact, numbers
from tests.support.effort import EFFORT, covering, sampled

CLOSE = 4e-5
EPILOGUES = ("", "bias relu", "bias residual silu")
CHANNELS = ((1, 3), (3, 16), (16, 20), (20, 1))
KERNELS = sampled([*product(EPILOGUES, CHANNELS)], 3)
"""Each has code of its own; the sample has all epilogues and all channels."""


def winograd(x: NumpyArray, weight: NumpyArray, bias: Any = None, **options: Any) -> NumpyArray:
    prepared = ps.prepare(weight, algorithm="winograd", layout=options.get("layout"))
    return ps.conv2d(x, prepared, bias, **{"specialize": False, "threads": 1, **options})


EXTENTS = range(1, 10) if EFFORT > 1 else (1, 2, 3, 4, 7, 9)
"""Of tiles of 2: fewer pixels than a kernel, whole and cut tiles, one tile and several."""


@covering(
    2,
    height=EXTENTS,
    width=EXTENTS,
    padding=(0, 1, 2, ((2, 0), (0, 3))),
    **{"epilogue, channels": KERNELS},
)
def test_images_of_any_size(
    height: int, width: int, padding: Any, epilogue: str, channels: tuple[int, int]
) -> None:
    sides = padding if isinstance(padding, tuple) else ((padding, padding),) * 2
    if height + sum(sides[0]) < 3 or width + sum(sides[1]) < 3:
        sides = ((1, 1), (1, 1))
    images = 1 + height % 2
    x, weight = numbers(images, height, width, channels[0]), numbers(3, 3, *channels)
    options: dict[str, Any] = {"padding": sides}
    if epilogue:
        options["activation"] = epilogue.rsplit(maxsplit=1)[-1]
    if "residual" in epilogue:
        pixels = (n + sum(side) - 2 for n, side in zip((height, width), sides, strict=True))
        options["residual"] = numbers(images, *pixels, channels[1])
    bias = numbers(channels[1]) if epilogue else None
    right = exact(x, weight, 0 if bias is None else bias, **options)
    found = winograd(x, weight, bias, **options)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, right, rtol=0, atol=CLOSE)


def test_views_out_and_channels_first() -> None:
    x, weight, residual = numbers(2, 9, 14, 6), numbers(3, 3, 6, 20), numbers(2, 9, 7, 20)
    bias = numbers(40)[::2]
    options: dict[str, Any] = {"padding": 1, "activation": "relu"}
    sides = {**options, "padding": ((1, 1), (1, 1))}
    right = exact(x[:, ::-1, ::2], weight, bias, residual=residual[:, ::-1], **sides)
    out = np.full(right.shape, np.nan, np.float32)
    view = x[:, ::-1, ::2]
    assert winograd(view, weight, bias, residual=residual[:, ::-1], out=out, **options) is out
    np.testing.assert_allclose(out, right, rtol=0, atol=CLOSE)
    first = np.full((2, 9, 20, 7), np.nan, np.float32).swapaxes(1, 2)
    images, further = (np.moveaxis(array[:, ::-1], -1, 1) for array in (x[:, :, ::2], residual))
    taps = weight.transpose(3, 2, 0, 1)
    winograd(images, taps, bias, residual=further, out=first, layout="NCHW", **options)
    np.testing.assert_array_equal(first.transpose(0, 2, 3, 1), out)


def test_groups_of_tiles_threads_and_concurrent_calls() -> None:
    x, weight, bias = numbers(2, 63, 64, 20), numbers(3, 3, 20, 24), numbers(24)
    options: dict[str, Any] = {"padding": 1, "activation": "relu"}
    right = exact(x, weight, bias, **{**options, "padding": ((1, 1), (1, 1))})
    found = winograd(x, weight, bias, **options)
    np.testing.assert_allclose(found, right, rtol=0, atol=CLOSE)
    np.testing.assert_allclose(
        winograd(x, weight, bias, threads=2, **options), right, rtol=0, atol=CLOSE
    )
    with ThreadPoolExecutor(3) as pool:
        calls = [pool.submit(winograd, x, weight, bias, **options) for _ in range(6)]
        for call in calls:
            np.testing.assert_array_equal(call.result(), found)


@covering(1, bytes=(1, 40_000, 100_000, 10**9), extents=((1, 1), (9, 4), (16, 7), (30, 30)))
def test_groups_cover_the_tiles_within_the_bytes(bytes: int, extents: tuple[int, int]) -> None:
    arrays = {"x": numbers(5, *extents, 8), "weight": numbers(3, 3, 8, 4)}
    layouts = {name: layout_of(array) for name, array in arrays.items()}
    request = checked(2, layouts, None, Options(padding=1, layout="NHWC"))
    groups = tile_groups(request, bytes)
    rows, columns = (-(-extent // 2) for extent in extents)
    tiles = [(image, row) for group in groups for image in group.images for row in group.rows]
    assert sorted(tiles) == [(image, row) for image in range(5) for row in range(rows)]
    sizes = [len(group.images) * len(group.rows) for group in groups]
    assert sizes[0] == max(sizes)
    assert sizes[0] == 1 or sizes[0] * 16 * columns * 12 * 4 <= bytes


def test_a_pixel_that_is_infinite_reaches_its_tiles_only() -> None:
    x, weight = numbers(1, 8, 8, 3), numbers(3, 3, 3, 16)
    right = exact(x, weight)
    x[0, 4, 4, 0] = np.inf
    found = winograd(x, weight)
    assert np.isfinite(found[0, :2]).all()
    assert np.isfinite(found[0, :, :2]).all()
    np.testing.assert_allclose(found[0, :2], right[0, :2], rtol=0, atol=CLOSE)
    assert not np.isfinite(found[0, 2:5, 2:5]).any()


X, W = numbers(1, 6, 7, 3), numbers(3, 3, 3, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ps.prepare(W[:1], algorithm="winograd"), "1x3 filter .*: leave algorithm out"),
        (lambda: ps.prepare(W[0], algorithm="winograd"), "takes a 3x3 filter of float32"),
        (lambda: ps.prepare(W.astype("f8"), algorithm="winograd"), "3x3 filter of float64"),
        (lambda: ps.prepare(W, groups=2, algorithm="winograd"), "groups=2; algorithm='winograd'"),
        (lambda: ps.prepare(W, algorithm="fft"), "algorithm='fft'; expected 'winograd' or None"),
        (
            lambda: ps.prepare(
                ps.computed(lambda code: ps.cast(code, "f32"), np.zeros((8, 8), "i1")),
                algorithm="winograd",
                activations="int8",
            ),
            "algorithm= are for the weights of a convolution",
        ),
        (lambda: winograd(X, W, stride=2), "stride=2 needs weights prepared without algorithm="),
        (lambda: winograd(X, W, dilation=(1, 2)), r"dilation=\(1, 2\) needs weights prepared"),
        (lambda: winograd(X, W, groups=3), "prepared with .* groups=1; expected"),
        (lambda: winograd(X.astype("f8"), W), "'weight' has elements of type float32"),
        (lambda: winograd(X, W, padding=-1), "padding=-1; expected"),
        (lambda: winograd(X[..., :2], W), "'x' has 2 channels and 'weight' 3 input"),
        (
            lambda: convolution_code(X, ps.prepare(W, algorithm="winograd")),
            "convolution_code: weights prepared with algorithm='winograd'",
        ),
    ],
)
def test_bad_arguments(call: Any, message: str) -> None:
    with pytest.raises(CallError, match=message):
        call()


def test_a_tensor_and_no_image() -> None:
    assert winograd(X[:0], W, padding=1).shape == (0, 6, 7, 4)
    torch = pytest.importorskip("torch")
    found = ps.conv2d(torch.from_numpy(X), ps.prepare(W, algorithm="winograd"))
    np.testing.assert_allclose(found.numpy(), exact(X, W), rtol=0, atol=CLOSE)
