"""Convolutions of any size, stride, dilation and number of groups, with or without bias and ReLU.

Images are stored as NHWC and filters as HWIO, so that output channels are lanes. The register tile
is a block of neighboring pixels by a few vectors of channels. Its sums stay in registers for the
whole reduction. The choices follow the schedules measured in
:mod:`polysched.bench.convolution_kernel`.
"""

from __future__ import annotations

from dataclasses import dataclass

from polysched.errors import KernelError, ScheduleError
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import path
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, f32
from polysched.ir.expr.expressions import Index, Operand
from polysched.ir.expr.functions import maximum
from polysched.library.extents import extents_of, require_sizes
from polysched.machine.description import Machine
from polysched.machine.load import as_machine
from polysched.user import Schedule


@dataclass(frozen=True)
class Convolution:
    """The sizes of a convolution; ``height`` and ``width`` are those of the output.

    Attributes:
        images: the number of images.
        height: rows of an output image.
        width: columns of an output image.
        channels_in: channels of the input.
        channels_out: channels of the output.
        filter_height: rows of the filter.
        filter_width: columns of the filter.
        stride: distance of neighboring output pixels in the input, in both directions.
        dilation: distance of neighboring filter taps in the input, in both directions.
        groups: number of equal parts of the input channels and of the output channels. Each part
            of the output reads one part of the input. As many groups as channels are a depthwise
            convolution.
    """

    images: int
    height: int
    width: int
    channels_in: int
    channels_out: int
    filter_height: int = 3
    filter_width: int = 3
    stride: int = 1
    dilation: int = 1
    groups: int = 1

    def __post_init__(self) -> None:
        """Check the sizes.

        Raises:
            KernelError: a field is not a positive integer, or the groups do not divide the
                channels; the message names the field.
        """
        require_sizes("conv2d", least=1, **vars(self))
        for name in ("channels_in", "channels_out"):
            if (value := getattr(self, name)) % self.groups:
                raise KernelError(
                    f"conv2d: {name} is {value}; expected a multiple of groups, {self.groups}"
                )

    @property
    def group_in(self) -> int:
        """Input channels that each output channel reads."""
        return self.channels_in // self.groups

    @property
    def group_out(self) -> int:
        """Output channels that read the same input channels."""
        return self.channels_out // self.groups

    @property
    def input_height(self) -> int:
        """Rows of an input image."""
        return (self.height - 1) * self.stride + (self.filter_height - 1) * self.dilation + 1

    @property
    def input_width(self) -> int:
        """Columns of an input image."""
        return (self.width - 1) * self.stride + (self.filter_width - 1) * self.dilation + 1


def conv2d(
    size: Convolution, *, bias: bool = False, relu: bool = False, dtype: DType | str = f32
) -> Kernel:
    """Declare a convolution without padding; sums have any order.

    ``out[n, y, x, c] = bias[c] + the sum over ky, kx, k of filter[ky, kx, k, c] *
    input[n, y*stride + ky*dilation, x*stride + kx*dilation, k]``; with ``relu`` negative results
    become 0. Arrays, C-contiguous: ``input[images, input_height, input_width,
    channels_in]``, ``filter[filter_height, filter_width, channels_in / groups, channels_out]``,
    ``bias[channels_out]`` if there is one, ``out[images, height, width, channels_out]``. With
    groups ``k`` counts the channels of the group of ``c``. The statements are ``init``, ``update``
    and, with ``relu``, ``epilogue``; where a group has several channels, a loop ``g`` goes over the
    groups and ``c`` over the channels of a group.

    Args:
        size: the sizes.
        bias: whether a bias is added.
        relu: whether negative results become 0.
        dtype: elements of all arrays.
    """
    build = KernelBuilder("conv2d")
    extents = (size.images, size.height, size.width, size.channels_out)
    input_shape = (size.images, size.input_height, size.input_width, size.channels_in)
    filter_shape = (size.filter_height, size.filter_width, size.group_in, size.channels_out)
    input = build.input("input", dtype, input_shape, dimensions="n y x k")
    filter = build.input("filter", dtype, filter_shape, dimensions="ky kx k c")
    offset = build.input("bias", dtype, (size.channels_out,)) if bias else None
    out = build.output("out", dtype, extents, dimensions="n y x c")
    sums = build.temporary("sums", dtype, extents, dimensions="n y x c") if relu else out
    space = {"n": size.images, "y": size.height, "x": size.width}
    taps = {"ky": size.filter_height, "kx": size.filter_width, "k": size.group_in}
    has_loop = size.groups > 1 and size.group_out > 1
    if has_loop:
        space["g"] = size.groups
    space["c"] = size.group_out if has_loop else size.channels_out

    def channel(of_channels: tuple[Index, ...]) -> tuple[Operand, Operand]:
        """The output channel, and the first input channel that it reads."""
        if not has_loop:
            (own,) = of_channels
            return own, own * size.group_in if size.groups > 1 else 0
        group, within = of_channels
        return group * size.group_out + within, group * size.group_in

    with build.loops(**space) as (n, y, x, *channels), build.statement("init"):
        c, _ = channel(tuple(channels))
        sums[n, y, x, c] = 0 if offset is None else offset[c]
    with (
        build.loops(**space, **taps) as (n, y, x, *channels, ky, kx, k),
        build.statement("update", order="any"),
    ):
        row, column = (at * size.stride + tap * size.dilation for at, tap in ((y, ky), (x, kx)))
        c, first = channel(tuple(channels))
        sums[n, y, x, c] += filter[ky, kx, k, c] * input[n, row, column, first + k]
    if relu:
        with build.loops(**space) as (n, y, x, *channels), build.statement("epilogue"):
            c, _ = channel(tuple(channels))
            out[n, y, x, c] = maximum(0, sums[n, y, x, c])
    return build.kernel()


@dataclass(frozen=True)
class Tile:
    """The register tile: ``rows`` by ``columns`` pixels, and vectors of ``lanes`` channels."""

    rows: int
    columns: int
    vectors: int
    lanes: int

    @property
    def channels(self) -> int:
        """The channels of a tile."""
        return self.vectors * self.lanes


def tile_for(height: int, width: int, channels: int, machine: Machine, dtype: DType) -> Tile:
    """Choose the register tile: with 32 registers, four vectors of channels by six pixels.

    Three quarters of the registers hold sums, an eighth holds the filter, and the rest holds
    pixels. Extents that are not multiples are divided into nearly equal parts: 100 channels in
    vectors of 16 become 64 and 36.
    """
    lanes = min(machine.lanes(dtype.bits), 1 << (channels - 1).bit_length())
    sums = machine.vector_registers * 3 // 4
    vectors = _even_part(-(-channels // lanes), machine.vector_registers // 8)
    columns = _even_part(width, sums // vectors)
    rows = _even_part(height, sums // (vectors * columns))
    return Tile(rows, columns, vectors, lanes)


def _even_part(extent: int, most: int) -> int:
    """The largest part when ``extent`` is divided evenly into parts of at most ``most``."""
    parts = -(-extent // most)
    return -(-extent // parts)


def conv2d_schedule(
    kernel: Kernel, machine: Machine | str | None = None, threads: int = 1
) -> Schedule:
    """Schedule a kernel of :func:`conv2d`.

    Args:
        kernel: the convolution.
        machine: the machine that the schedule is for: a description, the name of a preset, or a
            file; by default this machine.
        threads: the number of threads; a small convolution uses a single thread.

    Raises:
        ScheduleError: it is another kernel, or there are no threads.
        MachineError: there is no such machine.
    """
    if threads < 1:
        raise ScheduleError(f"conv2d: threads is {threads}; expected at least 1")
    out = extents_of(kernel, "out", "n y x c", "conv2d")
    taps = extents_of(kernel, "filter", "ky kx k c", "conv2d")
    groups = extents_of(kernel, "input", "n y x k", "conv2d")["k"] // taps["k"]
    has_loop = "g" in kernel.statements["update"].indices
    channels = out["c"] // groups if has_loop else out["c"]
    target = as_machine(machine)
    tile = tile_for(out["y"], out["x"], channels, target, kernel.arrays["out"].dtype)
    schedule = _tiled(Schedule(kernel), tile, _order(groups, has_loop))

    pixels = out["n"] * out["y"] * out["x"]
    work = pixels * out["c"] * taps["ky"] * taps["kx"] * taps["k"]
    if threads > 1 and work >= target.costs.parallel_products:
        schedule = schedule.collapse("update.n", "y_tile", into="rows").parallel("rows")
    is_reused = pixels > _REUSED * tile.rows * tile.columns
    if groups == 1 and out["c"] > tile.channels and is_reused:
        schedule = schedule.pack("filter", at="c_tile", order=("ky", "kx", "k", "c"))
        schedule = schedule.vectorize("filter_packed.c", tile.lanes)
    for statement in kernel.statements:
        inner = [f"{statement}.{loop}" for loop in _inside(schedule, statement)]
        schedule = schedule.vectorize(inner[-1], tile.lanes).unroll(*inner)
    return schedule.unroll("update.k", factor=2) if taps["k"] > 1 else schedule


_REUSED = 8
"""Pack the filter of a channel tile when more than this many tiles of pixels reuse it.

Measured on Zen 4, time without packing over time with it: 1.06 for a filter of 3x3x128x128 that
2000 pixels read, 0.98 to 1.03 for smaller filters and fewer pixels.
"""


def _order(groups: int, has_loop: bool) -> tuple[str, ...]:
    """The order of the tile loops. Groups have small filters, so the input is read only once."""
    if groups == 1:
        return ("c_tile", "n", "y_tile", "x_tile")
    return ("n", "y_tile", *(("g",) if has_loop else ()), "c_tile", "x_tile")


def _tiled(schedule: Schedule, tile: Tile, order: tuple[str, ...]) -> Schedule:
    """Tile the output around the reduction, and promote its sums to registers."""
    has_epilogue = "epilogue" in schedule.kernel.statements
    statement = "epilogue" if has_epilogue else "update"
    for loop, factor in (("c", tile.channels), ("x", tile.columns), ("y", tile.rows)):
        pair = (f"{loop}_tile", f"{loop}_in")
        schedule = schedule.split(f"{statement}.{loop}", factor, into=pair)
    tiles, inside = [f"{statement}.{loop}" for loop in order], ("y_in", "x_in", "c_in")
    if not has_epilogue:
        schedule = schedule.reorder(*tiles, *_TAPS, *inside).compute_at("init", at="x_tile")
        return schedule.promote("out", at="x_tile", lanes=tile.lanes)
    schedule = schedule.reorder(*tiles, *inside).compute_at("sums", at="x_tile")
    pixels = [f"update.{loop}" for loop in _inside(schedule, "update")]
    return schedule.reorder(*(f"update.{tap}" for tap in _TAPS), *pixels).promote(
        "sums", at="x_tile"
    )


_TAPS = ("ky", "kx", "k")


def _inside(schedule: Schedule, statement: str) -> list[str]:
    """The loops over a register tile's rows, columns and channels, in this order."""
    loops = [loop.name for loop in path(schedule.program.tree, statement)]
    return [loop for loop in loops[loops.index("x_tile") + 1 :] if loop not in _TAPS]
