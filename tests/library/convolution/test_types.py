"""Convolutions of half types and of bytes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.ir.expr.dtypes import DType, bf16, f16, f32, i8, i16, i32, u8
from polysched.legality.check import check
from polysched.library.convolution.format import Format
from polysched.library.convolution.kernel import convolution_kernel
from polysched.library.convolution.schedule import channel_tile, convolution_schedule
from polysched.library.convolution.size import Convolution, Epilogue
from polysched.lower import compile, show
from polysched.machine.load import load_machine
from tests.library.convolution.test_call import NumpyArray, exact, is_specialized
from tests.support.effort import covering

SHAPES: tuple[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]], ...] = (
    ((2, 7, 9, 5), (3, 3, 5, 20), {"padding": ((1, 1), (1, 1)), "stride": (2, 1)}),
    ((1, 6, 8, 24), (3, 3, 1, 24), {"groups": 24, "padding": ((1, 1), (1, 1))}),
    ((1, 6, 8, 8), (1, 1, 4, 6), {"groups": 2}),
    ((2, 11, 16), (1, 16, 40), {}),
    ((1, 2, 2, 3), (3, 3, 3, 3), {"padding": ((1, 1), (1, 1))}),
)


def bytes_of(shape: tuple[int, ...], dtype: str) -> NumpyArray:
    limits = np.iinfo(dtype)
    values = np.random.default_rng(len(shape)).integers(limits.min, limits.max + 1, shape)
    values.flat[:2] = limits.min, limits.max
    return values.astype(dtype)


@covering(1, dtype=[bf16, f16], is_prepared=[True, False], **{"shape, filter, options": SHAPES})
def test_half_types(
    dtype: DType,
    is_prepared: bool,
    shape: tuple[int, ...],
    filter: tuple[int, ...],
    options: dict[str, Any],
) -> None:
    """Small integers, whose sums are exact: only the result is rounded, once."""
    generator = np.random.default_rng(len(shape))
    x, weight, bias = (
        generator.integers(-9, 10, extents).astype(dtype.numpy())
        for extents in (shape, filter, filter[-1:])
    )
    call = ps.conv1d if len(shape) == 3 else ps.conv2d
    right = exact(x, weight, bias.astype("f8"), **options, activation="relu")
    given = ps.prepare(weight, groups=options.get("groups", 1)) if is_prepared else weight
    found = call(x, given, bias, specialize=is_specialized(x), **options, activation="relu")
    assert found.dtype == dtype.numpy()
    np.testing.assert_array_equal(found, right.astype("f4").astype(dtype.numpy()))


@covering(
    1,
    dtype=["i1", "u1"],
    **{
        "is_scaled, is_prepared": product([True, False], repeat=2),
        "shape, filter, options": SHAPES,
    },
)
def test_bytes(
    dtype: str,
    is_scaled: bool,
    is_prepared: bool,
    shape: tuple[int, ...],
    filter: tuple[int, ...],
    options: dict[str, Any],
) -> None:
    x, weight = bytes_of(shape, dtype), bytes_of(filter, "i1")
    bias = np.arange(filter[-1], dtype="i4") - 5
    call: Any = ps.conv1d if len(shape) == 3 else ps.conv2d
    right = exact(x, weight, bias, **options)
    sums = exact(x, weight, **options)
    scale = np.linspace(0.001, 0.01, filter[-1], dtype="f4")
    given = ps.prepare(weight, groups=options.get("groups", 1)) if is_prepared else weight
    if not is_scaled:
        found = call(x, given, bias, specialize=is_specialized(x), **options)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, right)
        return
    found = call(x, given, bias.astype("f4"), scale=scale, **options, activation="relu")
    assert found.dtype == np.float32
    expected = np.maximum(sums * scale + bias, 0)
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-3)


def test_a_scale_alone() -> None:
    x, weight = bytes_of((1, 2, 2, 3), "i1"), bytes_of((3, 3, 3, 3), "i1")
    found = ps.conv2d(x, weight, scale=0.5, padding=1)
    np.testing.assert_allclose(found, exact(x, weight, padding=((1, 1), (1, 1))) / 2, rtol=1e-6)


def test_residuals_and_channels_first() -> None:
    x, weight = bytes_of((1, 6, 7, 8), "i1"), bytes_of((3, 3, 8, 12), "i1")
    residual = bytes_of((1, 4, 5, 12), "i1")
    right = exact(x, weight, residual=residual)
    np.testing.assert_array_equal(ps.conv2d(x, weight, residual=residual.astype("i4")), right)
    images, filters = np.moveaxis(x, -1, 1), np.moveaxis(weight, (-1, -2), (0, 1))
    found = ps.conv2d(images, ps.prepare(filters, layout="NCHW"), layout="NCHW")
    np.testing.assert_array_equal(np.moveaxis(found, 1, -1), exact(x, weight))


@pytest.mark.parametrize(
    ("machine", "form", "instruction"),
    [
        ("haswell-avx2", Format(i8, i16, i32, f32, 2), "vpmaddwd"),
        ("skylake-avx512", Format(u8, i16, i32, i32, 2), "vpmaddwd"),
        ("znver4", Format(i8, i16, i32, f32, 2), "vpdpwssd"),
        ("sapphirerapids", Format(bf16, bf16, f32, bf16, 2), "vdpbf16ps"),
    ],
)
def test_pairs_of_channels_are_added_by_one_instruction(
    machine: str, form: Format, instruction: str
) -> None:
    size = Convolution(1, (6, 24), 7, 40, (3, 3), padding=((1, 1), (1, 1)))
    epilogue = Epilogue(scale=form.stored == i8, bias=True, activation="relu")
    described = load_machine(machine)
    vectors, lanes = channel_tile(40, described, form.total)
    kernel = convolution_kernel(size, epilogue, dtype=form, block=vectors * lanes)
    schedule = convolution_schedule(kernel, described)
    assert check(schedule).is_legal
    assert instruction in show(schedule, "asm", described)


def test_threads() -> None:
    x, weight = bytes_of((1, 60, 61, 32), "i1"), bytes_of((3, 3, 32, 64), "i1")
    right = exact(x, weight, padding=((1, 1), (1, 1)))
    np.testing.assert_array_equal(ps.conv2d(x, weight, threads=2, padding=1), right)


def test_kernel_runs_without_a_schedule() -> None:
    """The copy of the images and the pairs of the kernel mean what the schedule computes."""
    form, size = Format(i8, i16, i32, i32, 2), Convolution(1, (3, 4), 3, 5, (2, 2))
    kernel = convolution_kernel(size, dtype=form, block=8)
    x, weight = bytes_of((1, 4, 5, 3), "i1"), bytes_of((2, 2, 3, 5), "i1")
    filled = np.zeros((2, 2, 4, 8), "i2")
    filled[:, :, :3, :5] = weight
    pairs = np.ascontiguousarray(filled.reshape(1, 2, 2, 2, 2, 8).swapaxes(-1, -2))
    np.testing.assert_array_equal(compile(ps.Schedule(kernel))(x, pairs), exact(x, weight))
