"""Plans of Winograd's convolution: groups of tiles whose values stay close to the L2 cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from polysched.library.convolution.arguments import Request
from polysched.library.convolution.winograd import SIDE, TILE, WinogradCode
from polysched.library.matmul.dispatch.call import matmul
from polysched.library.matmul.generic.compiled import NativeCode, native_code
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.memory import addresses, aligned_empty, contiguous

NumpyArray = np.ndarray[Any, Any]


@dataclass(frozen=True)
class TileGroup:
    """Tiles that are transformed together: rows of tiles of one image, or whole images."""

    images: range
    rows: range


@dataclass(frozen=True)
class WinogradPlan:
    """A call with weights for Winograd's algorithm, whose arrays have known layouts.

    Attributes:
        groups: the groups of tiles, the largest one first.
        order: the order of the axes of images and residuals with channels last.
        block: output channels side by side in the weights and the sums.
    """

    request: Request
    groups: tuple[TileGroup, ...]
    order: tuple[int, ...]
    threads: int
    block: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result, channels last."""
        return self.request.shape

    @property
    def result(self) -> np.dtype[Any]:
        """The element type of the result."""
        return self.request.result

    @property
    def is_first(self) -> bool:
        """Whether images and results are given with channels first."""
        return self.request.is_first

    def run(self, arrays: Mapping[str, NumpyArray], result: NumpyArray) -> None:
        """Compute the result. The groups share buffers for a part of the image and its values."""
        size, weights = self.request.size, arrays["weight"]
        x = arrays["x"].transpose(self.order)
        epilogue = [contiguous(arrays["bias"])] if "bias" in arrays else []
        outer = [result]  # with the residual, arrays of which each group has a part
        if "residual" in arrays:
            outer.insert(0, contiguous(arrays["residual"].transpose(self.order)))
        vectors, bases = addresses(epilogue), addresses(outer)
        buffers = _Buffers(self.request, self.groups[0], weights)
        left = size.paddings[1][0]
        buffers.part[:, :, :left] = buffers.part[:, :, left + x.shape[2] :] = 0
        transform, transform_back = self._native
        columns = -(-size.pixels[1] // TILE)
        for group in self.groups:
            counts = len(group.images), len(group.rows), columns
            values, sums, at = buffers.of(counts)
            self._copy(x, group, buffers.part)
            transform.run(at[:2], (*counts, size.channels_in), self.threads)
            matmul(values, weights, sums, threads=self.threads, specialize=self.request.specialize)
            row = TILE * group.rows.start
            start = group.images.start * result.strides[0] + row * result.strides[1]
            extents = min(TILE * counts[1], size.pixels[0] - row), size.pixels[1]
            ends = (*vectors, *(base + start for base in bases))
            sizes = (*counts, size.channels_out, *extents, weights.shape[1])
            transform_back.run((at[2], *ends), sizes, self.threads)
        _give_back(buffers.memory)

    def _copy(self, x: NumpyArray, group: TileGroup, part: NumpyArray) -> None:
        """Copy the pixels that a group reads between zeros, which the first columns are already."""
        (top, _), (left, _) = self.request.size.paddings
        height, width = x.shape[1:3]
        start, count = TILE * group.rows.start - top, TILE * len(group.rows) + SIDE - TILE
        first = min(max(-start, 0), count)
        last = min(max(height - start, first), count)
        images = slice(group.images.start, group.images.stop)
        target = part[: len(group.images)]
        target[:, :first] = 0
        target[:, last:count] = 0
        target[:, first:last, left : left + width] = x[images, start + first : start + last]

    @cached_property
    def _native(self) -> tuple[NativeCode, NativeCode]:
        is_parallel = self.threads > 1
        back = WinogradCode(self.request.epilogue, is_parallel, self.block)
        return native_code(WinogradCode(None, is_parallel)), native_code(back)


def winograd_plan(request: Request, machine: Machine, threads: int, block: int) -> WinogradPlan:
    """The plan of a checked call."""
    groups = tile_groups(request, CACHES * machine.cache_bytes(2) * threads)
    order = (0, 2, 3, 1) if request.is_first else (0, 1, 2, 3)
    return WinogradPlan(request, groups, order, threads, block)


CACHES = 2
"""Bytes of the values and sums of a group, in L2 caches of a thread.

The products read values and write sums one position after the other, so the group may exceed L2.
Measured on Zen 4, times as fast as the direct sum with 1, 2 and 4 caches: 64 channels of 56x56
1.63, 1.84 and 1.83, 128 of 28x28 1.80, 1.86 and 1.86, 128 of 64x64 1.75, 1.83 and 1.74.
"""


def tile_groups(request: Request, most_bytes: int) -> tuple[TileGroup, ...]:
    """Divide the tiles into nearly equal groups of limited size, or of one row of tiles."""
    size = request.size
    rows, columns = (-(-extent // TILE) for extent in size.pixels)
    row_bytes = SIDE * SIDE * columns * (size.channels_in + size.channels_out) * 4
    most = max(most_bytes // row_bytes, 1)
    if rows <= most:
        return tuple(TileGroup(part, range(rows)) for part in _parts(size.images, most // rows))
    parts = _parts(rows, most)
    return tuple(
        TileGroup(range(image, image + 1), part) for image in range(size.images) for part in parts
    )


def _parts(count: int, most: int) -> list[range]:
    step = -(-count // -(-count // most))
    return [range(first, min(first + step, count)) for first in range(0, count, step)]


class _Buffers:
    """A part of the image with its padding, its transformed values, and the sums of a group.

    Args:
        group: the largest group.
        weights: the weights ``[16, blocks, channels in, block]``.
    """

    def __init__(self, request: Request, group: TileGroup, weights: NumpyArray) -> None:
        _, blocks, channels_in, block = weights.shape
        self._channels = (1, channels_in), (blocks, block)
        columns = -(-request.size.pixels[1] // TILE)
        images, rows = len(group.images), len(group.rows)
        height, width = (TILE * count + SIDE - TILE for count in (rows, columns))
        shape = images, height, width, channels_in
        tiles = SIDE * SIDE * images * rows * columns
        lengths = prod(shape), *(tiles * prod(count) for count in self._channels)
        self.memory = _taken(sum(map(_in_lines, lengths)))
        part, *self._flat = _pieces(self.memory, lengths)
        self.part = part.reshape(shape)
        self._views: dict[tuple[int, ...], tuple[NumpyArray, NumpyArray, list[int]]] = {}

    def of(self, counts: tuple[int, ...]) -> tuple[NumpyArray, NumpyArray, list[int]]:
        """Values, sums and addresses for numbers of images, rows and columns of tiles."""
        if counts not in self._views:
            tiles = prod(counts)
            values, sums = (
                flat[: SIDE * SIDE * blocks * tiles * block].reshape(-1, blocks, tiles, block)
                for flat, (blocks, block) in zip(self._flat, self._channels, strict=True)
            )
            self._views[counts] = values, sums, addresses((self.part, values, sums))
        return self._views[counts]


def _in_lines(length: int) -> int:
    """The length rounded up to whole cache lines of f32."""
    return -(-length // LINE) * LINE


def _pieces(memory: NumpyArray, lengths: Sequence[int]) -> list[NumpyArray]:
    """Parts of a buffer with these lengths, each from the start of a cache line."""
    starts = accumulate(map(_in_lines, lengths), initial=0)
    return [memory[start : start + length] for start, length in zip(starts, lengths, strict=False)]


def _taken(length: int) -> NumpyArray:
    """A buffer of f32 elements: the one of an earlier call if it is large enough.

    Reuse saves the page faults of new memory, up to a fifth of the time of a layer.
    """
    with suppress(IndexError):
        memory = _kept().pop()
        if memory.size >= length:
            return memory
    return aligned_empty((length,), np.float32)


def _give_back(memory: NumpyArray) -> None:
    """Keep a buffer for the next call, unless others are kept or it is far larger than L2."""
    if not _kept() and memory.nbytes <= 8 * load_machine(None).cache_bytes(2):
        _kept().append(memory)


@cache
def _kept() -> list[NumpyArray]:
    """The buffer that no call uses, if there is one. Lists are safe to share among threads."""
    return []


LINE = 16
"""Elements of f32 in a cache line."""
