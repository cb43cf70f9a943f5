"""``ps.conv2d`` and ``ps.prepare``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.legality.check import check
from polysched.library.convolution.arguments import Options
from polysched.library.convolution.call import convolution_code
from polysched.library.convolution.plan import GENERIC_CALLS, SPECIALIZER, Plan, planned
from tests.support.effort import covering

NumpyArray = np.ndarray[Any, Any]

ACTIVATIONS = {
    None: lambda value: value,
    "relu": lambda value: np.maximum(value, 0),
    "silu": lambda value: value / (1 + np.exp(-value)),
    "tanh": np.tanh,
}


def numbers(*shape: int, dtype: str = "f4") -> NumpyArray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def exact(
    x: NumpyArray,
    weight: NumpyArray,
    bias: Any = 0,
    *,
    stride: tuple[int, ...] | None = None,
    padding: Any = None,
    dilation: tuple[int, ...] | None = None,
    groups: int = 1,
    activation: str | None = None,
    residual: Any = 0,
) -> NumpyArray:
    """One shifted, strided matrix product in f64 for each tap and group, of a padded copy."""
    *taps, group_in, channels = weight.shape
    ones = (1,) * len(taps)
    strides, dilations = stride or ones, dilation or ones
    padded = np.pad(x.astype("f8"), ((0, 0), *(padding or ((0, 0),) * len(taps)), (0, 0)))
    sizes = zip(padded.shape[1:-1], taps, dilations, strides, strict=True)
    pixels = [(size - (tap - 1) * apart - 1) // step + 1 for size, tap, apart, step in sizes]
    total = np.zeros((len(x), *pixels, channels))
    group_out = channels // groups
    for *tap, group in product(*map(range, taps), range(groups)):
        seen = slice(group * group_in, (group + 1) * group_in)
        made = slice(group * group_out, (group + 1) * group_out)
        steps = zip(tap, dilations, strides, pixels, strict=True)
        first = [slice(at * apart, at * apart + n * step, step) for at, apart, step, n in steps]
        image = padded[(slice(None), *first, seen)]
        total[..., made] += image @ weight[tuple(tap)][:, made].astype("f8")
    result: NumpyArray = ACTIVATIONS[activation](total + bias + residual)
    return result


CONVOLUTIONS: dict[int, Any] = {3: ps.conv1d, 4: ps.conv2d, 5: ps.conv3d}
CLOSE = {"f4": 4e-5, "f8": 1e-12}
CHANNELS_FIRST = {3: "NCW", 4: "NCHW", 5: "NCDHW"}


def is_specialized(x: NumpyArray) -> bool:
    """Images of an odd number of rows run code for their size, the others code for any size."""
    return bool(x.shape[1] % 2)


def assert_channels_last(
    x: NumpyArray,
    weight: NumpyArray,
    bias: NumpyArray | None = None,
    *,
    is_prepared: bool = False,
    **options: Any,
) -> None:
    """A new array, and a given ``out``."""
    right = exact(x, weight, 0 if bias is None else bias, **options)
    call = CONVOLUTIONS[x.ndim]
    given = ps.prepare(weight, groups=options.get("groups", 1)) if is_prepared else weight
    options["specialize"] = is_specialized(x)
    found = call(x, given, bias, **options)
    assert found.dtype == x.dtype
    np.testing.assert_allclose(found, right, rtol=0, atol=CLOSE[x.dtype.str[1:]])
    out = np.full(right.shape, np.nan, x.dtype)
    assert call(x, given, bias, out=out, **options) is out
    np.testing.assert_array_equal(out, found)


def assert_channels_first(
    x: NumpyArray,
    weight: NumpyArray,
    bias: NumpyArray | None = None,
    *,
    is_prepared: bool = False,
    **options: Any,
) -> None:
    """The same arrays in the other layout, which a call is given in this one."""
    right = exact(x, weight, 0 if bias is None else bias, **options)
    call, layout = CONVOLUTIONS[x.ndim], CHANNELS_FIRST[x.ndim]
    close = {"rtol": 0, "atol": CLOSE[x.dtype.str[1:]]}
    options["specialize"] = is_specialized(x)
    if "residual" in options:
        options["residual"] = np.ascontiguousarray(np.moveaxis(options["residual"], -1, 1))
    images = np.ascontiguousarray(np.moveaxis(x, -1, 1))
    filters: Any = np.ascontiguousarray(np.moveaxis(weight, (-1, -2), (0, 1)))
    if is_prepared:
        filters = ps.prepare(filters, groups=options.get("groups", 1), layout=layout)
    out = np.full(np.moveaxis(right, -1, 1).shape, np.nan, x.dtype)
    assert call(images, filters, bias, out=out, layout=layout, **options) is out
    np.testing.assert_allclose(np.moveaxis(out, 1, -1), right, **close)
    found = call(images, filters, bias, layout=layout, **options)
    np.testing.assert_array_equal(found, call(images, filters, bias, layout=layout, **options))
    np.testing.assert_allclose(np.moveaxis(found, 1, -1), right, **close)


CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((1, 9, 11, 5), (3, 3, 5, 20), {"padding": ((1, 1), (1, 1)), "activation": "relu"}),
    ((2, 6, 5, 3), (5, 5, 3, 36), {"padding": ((2, 2), (2, 2)), "stride": (2, 2)}),
    ((2, 9, 5, 16), (1, 1, 16, 100), {"activation": "silu"}),
    ((1, 8, 8, 4), (1, 1, 4, 17), {"stride": (2, 3)}),
    ((1, 12, 10, 24), (3, 3, 1, 24), {"groups": 24, "padding": ((1, 1), (1, 1))}),
    ((1, 5, 10, 6), (3, 1, 2, 9), {"groups": 3, "padding": ((0, 2), (1, 0))}),
    ((1, 9, 9, 8), (3, 2, 8, 12), {"dilation": (2, 3), "padding": ((4, 1), (0, 5))}),
    ((1, 2, 2, 1), (1, 1, 1, 1), {"padding": ((3, 3), (3, 3)), "stride": (4, 4)}),
    (
        (1, 1, 25, 2),
        (2, 1, 1, 4),
        {"padding": ((3, 2), (4, 0)), "groups": 2, "dilation": (2, 2)},
    ),
    ((2, 1, 1, 8), (3, 3, 8, 16), {"padding": ((1, 1), (1, 1))}),
    ((2, 8, 7, 6), (2, 2, 2, 12), {"padding": ((0, 2), (0, 2)), "stride": (2, 3), "groups": 3}),
    ((2, 4, 6, 20), (1, 1, 5, 8), {"padding": ((2, 1), (0, 0)), "groups": 4}),
    ((2, 19, 5), (4, 5, 20), {"padding": ((1, 2),), "stride": (2,), "activation": "relu"}),
    ((3, 9, 16), (1, 16, 40), {}),
    ((1, 12, 24), (3, 1, 24), {"groups": 24, "dilation": (2,), "padding": ((2, 2),)}),
    ((1, 4, 5, 6, 3), (2, 3, 2, 3, 20), {"padding": ((1, 1),) * 3, "stride": (1, 2, 1)}),
    ((2, 3, 4, 5, 8), (1, 1, 1, 8, 12), {"activation": "silu"}),
    ((1, 2, 4, 7, 8), (2, 1, 3, 2, 8), {"groups": 4, "padding": ((1, 0), (0, 0), (2, 1))}),
    ((1, 1, 2, 2, 4), (3, 3, 3, 4, 8), {"padding": ((1, 1), (1, 1), (1, 1))}),
]


@covering(
    1,
    **{
        "check_layout, is_prepared": [
            (assert_channels_last, False),
            (assert_channels_first, True),
            (assert_channels_last, True),
            (assert_channels_first, False),
        ],
        "shape, filter, options": CASES,
    },
)
def test_sizes_and_options(
    check_layout: Callable[..., None],
    is_prepared: bool,
    shape: tuple[int, ...],
    filter: tuple[int, ...],
    options: dict[str, Any],
) -> None:
    x, weight, bias = numbers(*shape), numbers(*filter), numbers(filter[-1])
    check_layout(x, weight, bias, is_prepared=is_prepared, **options)


def test_double_precision_with_a_residual() -> None:
    x, weight = numbers(2, 6, 7, 8, dtype="f8"), numbers(3, 3, 8, 37, dtype="f8")
    residual = numbers(2, 6, 7, 37, dtype="f8")
    padding = ((1, 1), (1, 1))
    odd = {"padding": padding, "residual": residual[:, :5], "activation": "tanh"}
    assert_channels_last(x[:, :5], weight, numbers(37, dtype="f8"), **odd)
    assert_channels_first(x, weight, padding=padding, residual=residual)


@covering(1, check_layout=[assert_channels_first, assert_channels_last], pixels=[(9,), (2, 3, 4)])
def test_residuals_in_one_and_three_dimensions(
    check_layout: Callable[..., None], pixels: tuple[int, ...]
) -> None:
    filter = (3,) * len(pixels)
    options = {"padding": ((1, 1),) * len(pixels), "residual": numbers(1, *pixels, 10)}
    check_layout(numbers(1, *pixels, 4), numbers(*filter, 4, 10), numbers(10), **options)


def test_paddings_as_numbers_and_pairs() -> None:
    x, weight = numbers(1, 6, 7, 4), numbers(3, 3, 4, 8)
    whole = ps.conv2d(x, weight, padding=((1, 1), (1, 1)))
    for padding in (1, (1, 1), [1, 1], [(1, 1), 1]):
        np.testing.assert_array_equal(ps.conv2d(x, weight, padding=padding), whole)  # type: ignore[arg-type]
    right = exact(x, weight, padding=((2, 2), (0, 0)))
    np.testing.assert_allclose(ps.conv2d(x, weight, padding=(2, 0)), right, atol=2e-5)


@pytest.mark.parametrize("groups", [1, 64])
def test_threads(groups: int) -> None:
    x, weight = numbers(2, 40, 41, 64), numbers(3, 3, 64 // groups, 64)
    assert convolution_code(x, weight, padding=1, groups=groups, threads=2).is_parallel
    assert not convolution_code(x[:, :1], weight, padding=1, groups=groups, threads=1).is_parallel
    options = {"padding": 1, "groups": groups}
    one = ps.conv2d(x, weight, threads=1, **options)  # type: ignore[arg-type]
    np.testing.assert_array_equal(ps.conv2d(x, weight, threads=2, **options), one)  # type: ignore[arg-type]


def test_new_sizes_run_by_the_same_code() -> None:
    weight, bias = numbers(3, 3, 4, 20), numbers(20)
    options = {"padding": ((1, 2), (0, 1)), "stride": (2, 1), "activation": "relu"}
    codes = set()
    for shape in ((1, 3, 3), (2, 4, 9), (1, 11, 14), (3, 8, 25)):
        x = numbers(*shape, 4)
        found = ps.conv2d(x, weight, bias, specialize=False, **options)  # type: ignore[arg-type]
        np.testing.assert_allclose(found, exact(x, weight, bias, **options), atol=2e-5)  # type: ignore[arg-type]
        codes.add(
            planned(2, {"x": x, "weight": weight}, weight, None, Options(layout="NHWC")).generic
        )
    assert len(codes) == 1


def test_code_for_a_size_follows_after_some_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYSCHED_CACHE", str(tmp_path / "cache"))
    weight, options = numbers(2, 2, 3, 8), Options(layout="NHWC")

    def plan_of(x: NumpyArray) -> Plan:
        return planned(2, {"x": x, "weight": weight}, weight, None, options)

    first, x = numbers(1, 7, 8, 3), numbers(1, 9, 8, 3)
    np.testing.assert_allclose(ps.conv2d(first, weight), exact(first, weight), atol=1e-5)
    assert "for_any_size" not in vars(plan_of(first)), "it takes longer to make"
    right = ps.conv2d(x, weight)
    assert "specialized" not in vars(plan_of(x))
    np.testing.assert_allclose(right, exact(x, weight), atol=1e-5)
    for _ in range(GENERIC_CALLS):
        np.testing.assert_allclose(ps.conv2d(x, weight), right, atol=1e-6)
    SPECIALIZER.wait()
    assert SPECIALIZER.is_done(plan_of(x).code)
    np.testing.assert_allclose(ps.conv2d(x, weight), right, atol=1e-6)


def test_arrays_with_gaps_are_copied() -> None:
    x, weight, bias = numbers(1, 12, 9, 8), numbers(3, 3, 4, 24), numbers(24)
    found = ps.conv2d(x[:, ::-2, :, ::2], weight[..., ::2], bias[::2], padding=1)
    right = exact(x[:, ::-2, :, ::2], weight[..., ::2], bias[::2], padding=((1, 1), (1, 1)))
    np.testing.assert_allclose(found, right, atol=2e-5)


def test_channels_last_images_of_a_channels_first_call_are_not_copied() -> None:
    x, weight = numbers(1, 9, 9, 8), numbers(3, 3, 8, 16)
    found = ps.conv2d(x.transpose(0, 3, 1, 2), weight.transpose(3, 2, 0, 1), layout="NCHW")
    assert found.transpose(0, 2, 3, 1).flags.c_contiguous
    np.testing.assert_array_equal(found.transpose(0, 2, 3, 1), ps.conv2d(x, weight))


def test_results_of_a_channels_first_call_may_have_any_strides() -> None:
    x, weight = numbers(1, 8, 9, 9), numbers(16, 8, 3, 3)
    right = ps.conv2d(x, weight, layout="NCHW", specialize=False)
    for order in ((0, 1, 2, 3), (0, 2, 3, 1), (3, 2, 1, 0)):
        memory = np.full(np.transpose(right, order).shape, np.nan, np.float32)
        out = memory.transpose(np.argsort(order))
        assert ps.conv2d(x, weight, layout="NCHW", out=out, specialize=False) is out
        np.testing.assert_array_equal(out, right)


def test_nan_and_infinity_reach_the_pixels_that_read_them() -> None:
    x, weight = numbers(1, 6, 6, 3), numbers(3, 3, 3, 20)
    x[0, 0, 0, 1], x[0, 5, 5, 0] = np.nan, np.inf
    found = ps.conv2d(x, weight, padding=1)
    with np.errstate(invalid="ignore"):
        right = exact(x, weight, padding=((1, 1), (1, 1)))
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(right))
    assert np.isfinite(found).sum() == (36 - 8) * 20


@pytest.mark.parametrize("huge", [{"stride": 2**62}, {"dilation": 2**62}])
def test_huge_strides_and_dilations_of_a_single_tap(huge: dict[str, int]) -> None:
    x = np.random.default_rng(5).normal(size=(1, 4, 5, 8)).astype("f4")
    weight = np.random.default_rng(6).normal(size=(1, 1, 8, 8)).astype("f4")
    whole = ps.conv2d(x, weight)
    expected = whole[:, :1, :1] if "stride" in huge else whole
    np.testing.assert_allclose(ps.conv2d(x, weight, **huge), expected, atol=1e-5)


def test_no_image() -> None:
    x, weight = numbers(0, 6, 6, 3), numbers(3, 3, 3, 20)
    assert ps.conv2d(x, weight).shape == (0, 4, 4, 20)
    found = ps.conv2d(x.transpose(0, 3, 1, 2), weight.transpose(3, 2, 0, 1), layout="NCHW")
    assert found.shape == (0, 20, 4, 4)


@covering(1, machine=["skylake-avx512", "haswell-avx2"], groups=[1, 4, 32])
def test_schedules_are_shown_and_proved(machine: str, groups: int) -> None:
    x, weight = numbers(1, 9, 9, 32), numbers(3, 3, 32 // groups, 64)
    code = convolution_code(x, weight, padding=1, groups=groups, activation="relu")
    schedule = code.schedule(machine)
    assert check(schedule).is_legal
    assert "vectorize" in schedule.trace()


def test_later_changes_of_weights_do_not_reach_prepared_ones() -> None:
    for groups in (1, 2):
        x, weight = numbers(1, 5, 5, 8), numbers(3, 3, 8 // groups, 20)
        prepared, right = ps.prepare(weight, groups=groups), ps.conv2d(x, weight, groups=groups)
        weight[:] = 0
        found = ps.conv2d(x, prepared, groups=groups)
        np.testing.assert_allclose(found, right, atol=1e-5)
