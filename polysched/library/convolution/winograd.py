"""Kernels of Winograd's convolution F(2x2, 3x3): the transforms of images and of sums.

A. Lavin and S. Gray, "Fast algorithms for convolutional neural networks" (2016), section 4.1: a
tile of 2x2 output pixels reads 4x4 pixels of the image. Sixteen products of transformed pixels and
weights replace 36, one matrix product for each of the sixteen positions. All sizes are parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32
from polysched.ir.expr.expressions import Expression
from polysched.library.convolution.size import Epilogue
from polysched.library.matmul.kernel.epilogue import ACTIVATIONS
from polysched.library.on_demand import unscheduled
from polysched.machine.description import Machine
from polysched.machine.load import as_machine

if TYPE_CHECKING:
    from polysched.user import Schedule

NumpyArray = np.ndarray[Any, Any]

TILE = 2
"""Rows and columns of the output pixels of a tile."""

SIDE = 4
"""Rows and columns of the pixels that a tile reads, and of its transformed values."""

_IMAGE = ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1))
_WEIGHT = ((1, 0, 0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0, 0, 1))
_SUMS = ((1, 1, 1, 0), (0, 1, -1, -1))


def transformed_weights(array: NumpyArray) -> NumpyArray:
    """The weights ``[16, channels in, channels out]`` of HWIO weights, rounded once to f32."""
    factors = np.array(_WEIGHT)
    with np.errstate(all="ignore"):  # NaN and infinity propagate
        sums: NumpyArray = np.einsum("ai,bj,ijkc->abkc", factors, factors, array.astype(np.float64))
        return sums.reshape(SIDE * SIDE, *array.shape[2:]).astype(np.float32)


def image_kernel() -> Kernel:
    """Declare the transform of images.

    Arrays, C-contiguous: ``image[images, 2 * rows + 2, 2 * columns + 2, channels]``, padding
    included, and ``out[16, images, rows, columns, channels]``, with rows and columns of tiles.
    """
    build = KernelBuilder("winograd_image")
    tiles, channels = _tiles(build)
    images, rows, columns = tiles
    shape = (images, TILE * rows + SIDE - TILE, TILE * columns + SIDE - TILE, channels)
    image = build.input("image", f32, shape)
    out = build.output("out", f32, (SIDE * SIDE, *tiles, channels))
    with build.loops(n=images, y=rows, x=columns, c=channels) as at:
        n, y, x, c = at

        def pixel(row: int, column: int) -> Expression:
            return image[n, TILE * y + row, TILE * x + column, c]

        for row, column in product(range(SIDE), repeat=2):
            with build.statement(f"value_{row}{column}"):
                value = _transformed(_IMAGE[row], _IMAGE[column], pixel)
                out[(SIDE * row + column, *at)] = value
    return build.kernel()


def sums_kernel(epilogue: Epilogue, block: int) -> Kernel:
    """Declare the transform of sums: ``out = activation(transformed sums + bias + residual)``.

    Arrays, C-contiguous: ``sums[16, channels / block, images, rows, columns, block]`` of tiles,
    ``bias[channels]`` and ``residual`` if asked for, and ``out[images, height, width, channels]``.
    The last row and column of tiles may have a single row or column of pixels, the last block fewer
    channels.

    Args:
        block: channels side by side in the sums.
    """
    build = KernelBuilder("winograd_sums")
    tiles, channels = _tiles(build)
    height, width, blocks = (
        build.parameter(name, minimum=1) for name in ("height", "width", "blocks")
    )
    steps = (TILE, tiles[1], height), (TILE, tiles[2], width), (block, blocks, channels)
    for step, count, extent in steps:
        build.assume(step * count - step < extent)
        build.assume(extent <= step * count)
    shape = (tiles[0], height, width, channels)
    sums = build.input("sums", f32, (SIDE * SIDE, blocks, *tiles, block))
    bias = build.input("bias", f32, (channels,)) if epilogue.bias else None
    residual = build.input("residual", f32, shape) if epilogue.residual else None
    out = build.output("out", f32, shape)
    with build.loops(n=tiles[0], y=tiles[1], x=tiles[2], b=blocks, c=block) as at:
        n, y, x, b, c = at
        channel = block * b + c

        def total(row: int, column: int) -> Expression:
            return sums[SIDE * row + column, b, n, y, x, c]

        for row, column in product(range(TILE), repeat=2):
            pixel = (n, TILE * y + row, TILE * x + column, channel)
            value = _transformed(_SUMS[row], _SUMS[column], total)
            value = value if bias is None else value + bias[channel]
            value = value if residual is None else value + residual[pixel]
            value = ACTIVATIONS[epilogue.activation](value) if epilogue.activation else value
            with ExitStack() as guards:
                guards.enter_context(build.where(channel < channels))
                if row:
                    guards.enter_context(build.where(pixel[1] < height))
                if column:
                    guards.enter_context(build.where(pixel[2] < width))
                guards.enter_context(build.statement(f"pixel_{row}{column}"))
                out[pixel] = value
    return build.kernel()


def winograd_schedule(
    kernel: Kernel, machine: Machine | str | None = None, threads: int = 1
) -> Schedule:
    """Schedule a transform: vectors of channels.

    Args:
        kernel: a kernel of :func:`image_kernel` or :func:`sums_kernel`.
        machine: the machine, the name of a preset, or a file; by default this machine.
        threads: the number of threads, which share the rows of tiles of an image.
    """
    lanes = as_machine(machine).lanes(f32)
    schedule = unscheduled(kernel).vectorize("c", lanes)
    return schedule.parallel("y") if threads > 1 else schedule


@dataclass(frozen=True)
class WinogradCode:
    """A transform, whose machine code is kept on disk.

    Attributes:
        epilogue: the operations on the sums; None for the transform of images.
        block: channels side by side in the sums; without effect on images.
    """

    epilogue: Epilogue | None
    is_parallel: bool
    block: int = 0

    @property
    def name(self) -> str:
        """The name of the kernel."""
        return "winograd_image" if self.epilogue is None else "winograd_sums"

    def kernel(self) -> Kernel:
        """The kernel that a call schedules."""
        return image_kernel() if self.epilogue is None else sums_kernel(self.epilogue, self.block)

    def schedule(self, machine: Machine | str | None = None) -> Schedule:
        """The schedule that a call compiles, to be shown, edited or exported."""
        return winograd_schedule(self.kernel(), machine, 2 if self.is_parallel else 1)


def _tiles(build: KernelBuilder) -> tuple[tuple[Expression, ...], Expression]:
    """The extents of the tiles, and the channels, as parameters."""
    names = ("images", "rows", "columns", "channels")
    *tiles, channels = (build.parameter(name, minimum=1) for name in names)
    return tuple(tiles), channels


def _transformed(
    of_rows: Sequence[float], of_columns: Sequence[float], element: Callable[[int, int], Expression]
) -> Expression:
    """The combination of the rows of combined elements. LLVM shares the equal combinations."""
    columns = [
        _combined(of_rows, [element(row, column) for row in range(SIDE)]) for column in range(SIDE)
    ]
    return _combined(of_columns, columns)


def _combined(factors: Sequence[float], terms: Sequence[Expression]) -> Expression:
    """The sum of the terms with factors 1, 0 and -1, beginning with a positive one."""
    first, *rest = sorted(
        (pair for pair in zip(factors, terms, strict=True) if pair[0]), key=lambda pair: -pair[0]
    )
    total = first[1]
    for factor, term in rest:
        total = total + term if factor > 0 else total - term
    return total
