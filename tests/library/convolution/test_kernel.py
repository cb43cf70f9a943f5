from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from polysched.bench.conv.kernel import conv2d_relu
from polysched.errors import KernelError, ScheduleError
from polysched.inspect.assembly import hot_loop, parse
from polysched.ir.expr.dtypes import DType, f32, f64
from polysched.ir.semantics.memory import AnyArray
from polysched.legality.check import check
from polysched.library.convolution.kernel import convolution_kernel
from polysched.library.convolution.schedule import Tile, convolution_schedule, tile_for
from polysched.library.convolution.size import Convolution, Epilogue, Padding
from polysched.lower import compile, show
from polysched.machine.load import load_machine
from polysched.user import Schedule
from tests.support.differential import NO_CACHE
from tests.support.effort import covering, sampled

MACHINE = load_machine("skylake-avx512")


def planar(
    images: int,
    height: int,
    width: int,
    channels_in: int,
    channels_out: int,
    filter_height: int = 3,
    filter_width: int = 3,
    stride: int = 1,
    dilation: int = 1,
    groups: int = 1,
    padding: Padding = (),
) -> Convolution:
    """The sizes of a convolution in two dimensions."""
    pixels, filter = (height, width), (filter_height, filter_width)
    return Convolution(
        images, pixels, channels_in, channels_out, filter, stride, dilation, groups, padding
    )


def operands(size: Convolution, dtype: DType) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Small integers, whose sums of products are exact in any order."""
    generator = np.random.default_rng(size.pixels[-1])
    shapes: tuple[tuple[int, ...], ...] = (
        (size.images, *size.image, size.channels_in),
        (*size.filter, size.group_in, size.channels_out),
        (size.channels_out,),
    )
    input, filter, bias = (
        generator.integers(-4, 5, shape).astype(dtype.numpy()) for shape in shapes
    )
    return input, filter, bias


def epilogue(*, bias: bool = False, relu: bool = False) -> Epilogue:
    return Epilogue(bias=bias, activation="relu" if relu else None)


def expected(size: Convolution, input: AnyArray, filter: AnyArray) -> AnyArray:
    """One shifted, strided matrix product for each tap and group."""
    total: AnyArray = np.zeros((size.images, *size.pixels, size.channels_out), input.dtype)
    padded = np.pad(input, ((0, 0), *size.paddings, (0, 0)))
    for tap in product(*map(range, size.filter)):
        steps = zip(tap, size.dilations, size.strides, size.pixels, strict=True)
        seen = tuple(
            slice(at * dilation, at * dilation + (count - 1) * stride + 1, stride)
            for at, dilation, stride, count in steps
        )
        for group in range(size.groups):
            read, made = (
                slice(group * channels, (group + 1) * channels)
                for channels in (size.group_in, size.group_out)
            )
            total[..., made] += (
                padded[(slice(None), *seen, read)] @ filter[(*tap, slice(None), made)]
            )
    return total


def assert_right(
    size: Convolution,
    *,
    bias: bool = False,
    relu: bool = False,
    dtype: DType = f32,
    threads: int = 1,
) -> Schedule:
    """Return the schedule, which is legal and whose code computes the convolution."""
    input, filter, offset = operands(size, dtype)
    kernel = convolution_kernel(size, epilogue(bias=bias, relu=relu), dtype=dtype)
    schedule = convolution_schedule(kernel, MACHINE, threads)
    assert check(schedule).is_legal
    right = expected(size, input, filter)
    right = right + offset if bias else right
    right = np.maximum(right, 0) if relu else right
    inputs = (input, filter, offset) if bias else (input, filter)
    np.testing.assert_array_equal(compile(schedule, cache=NO_CACHE)(*inputs), right)
    return schedule


@covering(1, filter=[(1, 1), (3, 3), (5, 3)], dilation=[1, 2], stride=[1, 2])
def test_filters_strides_and_dilations(filter: tuple[int, int], stride: int, dilation: int) -> None:
    assert_right(planar(2, 5, 9, 3, 20, *filter, stride, dilation), bias=True, relu=True)


@covering(1, bias=[False, True], relu=[False, True])
def test_bias_and_relu(bias: bool, relu: bool) -> None:
    assert_right(planar(2, 3, 11, 5, 70), bias=bias, relu=relu)


@pytest.mark.parametrize("channels", sampled([1, 3, 15, 17, 65], 2))
def test_channels_that_do_not_divide(channels: int) -> None:
    assert_right(planar(1, 3, 7, 2, channels), relu=True)


@pytest.mark.parametrize(
    ("height", "width"), sampled([(1, 1), (13, 1), (1, 13), (7, 7), (4, 2), (5, 6)], 2)
)
def test_images_that_do_not_divide(height: int, width: int) -> None:
    assert_right(planar(1, height, width, 3, 64), bias=True)


@pytest.mark.parametrize("relu", [False, True])
def test_filter_is_packed_where_it_is_read_often(relu: bool) -> None:
    size = planar(2, 12, 12, 4, 150)
    schedule = assert_right(size, relu=relu)
    assert "filter_packed" in schedule.program.arrays


@pytest.mark.parametrize(
    ("channels_in", "channels_out", "groups", "relu"),
    sampled(
        [
            (70, 70, 70, True),
            (20, 20, 20, False),
            (6, 3, 3, True),
            (5, 10, 5, False),
            (6, 9, 3, True),
            (8, 160, 2, True),
            (34, 68, 2, False),
        ],
        2,
    ),
)
def test_groups(channels_in: int, channels_out: int, groups: int, relu: bool) -> None:
    """Depthwise, with several channels of the input, of the output, and both."""
    size = planar(2, 5, 9, channels_in, channels_out, groups=groups)
    assert_right(size, bias=not relu, relu=relu)


@covering(1, groups=[2, 18], **{"stride, dilation": [(2, 1), (1, 2), (2, 3)]})
def test_groups_with_strides_and_dilations(groups: int, stride: int, dilation: int) -> None:
    assert_right(planar(1, 4, 7, 18, 36, 3, 3, stride, dilation, groups), bias=True)


@pytest.mark.parametrize("groups", [4, 64])
def test_groups_and_threads(groups: int) -> None:
    size = planar(2, 60, 60, 64, 64, groups=groups)
    schedule = assert_right(size, threads=2)
    assert "parallel rows" in show(schedule, "loops")


def test_a_depthwise_convolution_has_its_channels_in_lanes() -> None:
    schedule = convolution_schedule(
        convolution_kernel(planar(1, 12, 60, 64, 64, groups=64)), MACHINE
    )
    loop = hot_loop(parse(show(schedule, "asm", MACHINE))[0])
    assert loop is not None
    counts = loop.counts
    assert (counts.fma, counts.accumulators, counts.widest_register) == (24, 24, "zmm")
    assert (counts.spills, counts.gathers, counts.broadcasts, counts.masked) == (0, 0, 0, 0)


@covering(
    1,
    threads=[1, 2],
    size=[
        Convolution(2, (20,), 6, 40, (3,), padding=((1, 1),)),
        Convolution(1, (9,), 8, 8, (4,), stride=2, groups=8, padding=((2, 1),)),
        Convolution(1, (3, 4, 9), 3, 20, (3, 2, 3), (2, 1, 1), (1, 2, 1), padding=((1, 1),) * 3),
        Convolution(2, (2, 3, 8), 8, 12, (2, 1, 2), groups=4, padding=((0, 1), (0, 0), (1, 0))),
    ],
)
def test_one_and_three_dimensions(size: Convolution, threads: int) -> None:
    assert_right(size, bias=True, relu=True, threads=threads)


@covering(1, groups=[1, 32], pixels=[(9000,), (6, 30, 30)])
def test_threads_in_one_and_three_dimensions(groups: int, pixels: tuple[int, ...]) -> None:
    size = Convolution(2, pixels, 32, 64, (3,) * len(pixels), groups=groups)
    schedule = assert_right(size, relu=True, threads=2)
    assert "parallel rows" in show(schedule, "loops")


def test_double_precision() -> None:
    assert_right(planar(1, 5, 7, 3, 37), bias=True, relu=True, dtype=f64)


@pytest.mark.parametrize("relu", sampled([True, False], 2))
def test_threads(relu: bool) -> None:
    size = planar(2, 21, 30, 16, 70)
    schedule = assert_right(size, relu=relu, threads=2)
    assert "parallel rows" in show(schedule, "loops")


def test_nan_reaches_the_pixels_that_read_it() -> None:
    size = planar(1, 5, 5, 2, 16)
    input, filter, _ = operands(size, f32)
    input[0, 1, 2, 0] = np.nan
    schedule = convolution_schedule(convolution_kernel(size, epilogue(relu=True)), MACHINE)
    out = compile(schedule, cache=NO_CACHE)(input, filter)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(out, np.maximum(expected(size, input, filter), 0))


@pytest.mark.parametrize(
    ("height", "width", "channels", "tile"),
    [
        (80, 100, 128, Tile(1, 6, 4, 16)),
        (7, 7, 64, Tile(1, 4, 4, 16)),
        (8, 2, 64, Tile(3, 2, 4, 16)),
        (9, 100, 80, Tile(1, 8, 3, 16)),
        (1, 1, 3, Tile(1, 1, 1, 4)),
        (50, 50, 1, Tile(1, 17, 1, 1)),
    ],
)
def test_tile(height: int, width: int, channels: int, tile: Tile) -> None:
    assert tile_for(height, width, channels, MACHINE, f32) == tile


def test_tile_of_a_machine_with_few_registers() -> None:
    """Nothing is spilled: 12 sums, two vectors of the filter and a pixel."""
    machine = load_machine("haswell-avx2")
    assert tile_for(80, 100, 128, machine, f32) == Tile(1, 6, 2, 8)
    schedule = convolution_schedule(convolution_kernel(planar(1, 8, 96, 32, 128)), machine)
    loop = hot_loop(parse(show(schedule, "asm", machine))[0])
    assert loop is not None
    assert (loop.counts.accumulators, loop.counts.spills, loop.counts.stores) == (12, 0, 0)


def test_hot_loop() -> None:
    """24 sums in registers; what is multiplied is loaded once, for two channels of the input."""
    schedule = convolution_schedule(
        convolution_kernel(planar(1, 8, 96, 32, 128), epilogue(relu=True)), MACHINE
    )
    loop = hot_loop(parse(show(schedule, "asm", MACHINE))[0])
    assert loop is not None
    counts = loop.counts
    assert (counts.fma, counts.accumulators, counts.widest_register) == (48, 24, "zmm")
    assert (counts.vector_loads, counts.broadcasts) == (8, 12)
    assert (counts.spills, counts.stores, counts.gathers, counts.masked) == (0, 0, 0, 0)


def test_without_a_schedule() -> None:
    """The kernel alone means what the schedule computes."""
    size = planar(1, 2, 3, 2, 3, 2, 1, 2, 3)
    input, filter, _ = operands(size, f32)
    out = compile(Schedule(convolution_kernel(size)), cache=NO_CACHE)(input, filter)
    np.testing.assert_array_equal(out, expected(size, input, filter))


def test_refusals() -> None:
    with pytest.raises(KernelError, match=r"conv2d: stride of rows is 0; expected an integer >= 1"):
        planar(1, 2, 3, 4, 5, stride=0)
    with pytest.raises(KernelError, match=r"channels_in is 4; expected a multiple of groups, 3"):
        planar(1, 2, 3, 4, 6, groups=3)
    with pytest.raises(KernelError, match=r"channels_out is 5; expected a multiple of groups, 2"):
        planar(1, 2, 3, 4, 5, groups=2)
    with pytest.raises(
        ScheduleError, match=r"no array 'out' with the dimensions n .* convolution_kernel"
    ):
        convolution_schedule(conv2d_relu(), MACHINE)
    with pytest.raises(ScheduleError, match=r"conv2d: threads is 0; expected at least 1"):
        convolution_schedule(convolution_kernel(planar(1, 2, 3, 4, 5)), MACHINE, 0)
    with pytest.raises(ScheduleError, match=r"blocks of 32 channels; expected 64, the channels"):
        convolution_schedule(convolution_kernel(planar(1, 2, 3, 4, 64), block=32), MACHINE)
    with pytest.raises(KernelError, match=r"conv1d: filter is \(3, 3\); expected 1 dimensions"):
        Convolution(1, (5,), 3, 4, (3, 3))
    with pytest.raises(KernelError, match=r"pixels is \(1, 1, 1, 1\); expected 1 to 3 extents"):
        Convolution(1, (1, 1, 1, 1), 3, 4, (1, 1, 1, 1))
    with pytest.raises(KernelError, match=r"image extent of rows is 0; expected an integer >= 1"):
        planar(1, 2, 3, 4, 5, padding=((2, 2), (0, 0)))
    with pytest.raises(
        KernelError, match=r"padding before the rows is -1; expected an integer >= 0"
    ):
        planar(1, 2, 3, 4, 5, padding=((-1, 0), (0, 0)))
