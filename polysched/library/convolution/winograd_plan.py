"""Plans of Winograd's convolution: groups of tiles whose transformed data stays in the L2 cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from polysched.library.convolution.arguments import Request
from polysched.library.convolution.winograd import SIDE, TILE, WinogradCode
from polysched.library.matmul.dispatch.call import matmul
from polysched.library.matmul.generic.compiled import NativeCode, native_code, object_folder
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.bound_call import no_workspace
from polysched.runtime.memory import addresses, aligned_contiguous, aligned_empty

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
        request: the checked arguments.
        groups: the groups of tiles, the largest one first.
        order: the order of the axes of images and residuals with channels last.
        threads: the threads to use.
    """

    request: Request
    groups: tuple[TileGroup, ...]
    order: tuple[int, ...]
    threads: int

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
        channels = size.channels_in, size.channels_out
        x = arrays["x"].transpose(self.order)
        bias = [aligned_contiguous(arrays["bias"])] if "bias" in arrays else []
        residual = None
        if "residual" in arrays:
            residual = aligned_contiguous(arrays["residual"].transpose(self.order))
        transform, transform_back = self._native()
        columns = -(-size.pixels[1] // TILE)
        images, rows = len(self.groups[0].images), len(self.groups[0].rows)
        height, width = (TILE * count + SIDE - TILE for count in (rows, columns))
        shape = images, height, width, channels[0]
        lengths = prod(shape), *(SIDE * SIDE * images * rows * columns * n for n in channels)
        memory = _taken(sum(map(_in_lines, lengths)))
        part, *buffers = _pieces(memory, lengths)
        part = part.reshape(shape)
        left = size.paddings[1][0]
        part[:, :, :left] = part[:, :, left + x.shape[2] :] = 0
        for group in self.groups:
            counts = len(group.images), len(group.rows), columns
            tiles = counts[0] * counts[1] * columns
            values, sums = (
                buffer[: SIDE * SIDE * tiles * count].reshape(SIDE * SIDE, tiles, count)
                for buffer, count in zip(buffers, channels, strict=True)
            )
            self._copy(x, group, part)
            sizes = *counts, channels[0]
            _run("winograd_image", transform, [part, values], sizes, self.threads)
            matmul(values, weights, sums, threads=self.threads, specialize=self.request.specialize)
            rows_out = slice(TILE * group.rows.start, TILE * group.rows.stop)
            seen = slice(group.images.start, group.images.stop), rows_out
            out = result[seen]
            inputs = [sums, *bias, *([] if residual is None else [residual[seen]]), out]
            sizes_out = *counts, channels[1], *out.shape[1:3]
            _run("winograd_sums", transform_back, inputs, sizes_out, self.threads)
        _give_back(memory)

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

    def _native(self) -> tuple[NativeCode, NativeCode]:
        is_parallel = self.threads > 1
        codes = WinogradCode(None, is_parallel), WinogradCode(self.request.finish, is_parallel)
        return _native_transform(codes[0]), _native_transform(codes[1])


def winograd_plan(request: Request, machine: Machine, threads: int) -> WinogradPlan:
    """The plan of a checked call."""
    groups = tile_groups(request, machine.cache_bytes(2) * threads)
    order = (0, 2, 3, 1) if request.is_first else (0, 1, 2, 3)
    return WinogradPlan(request, groups, order, threads)


def tile_groups(request: Request, most_bytes: int) -> tuple[TileGroup, ...]:
    """Divide the tiles into nearly equal groups with at most so many bytes, or one row of tiles."""
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
    """Nearly equal parts of at most ``most`` items, the largest one first."""
    step = -(-count // -(-count // most))
    return [range(first, min(first + step, count)) for first in range(0, count, step)]


def _run(
    name: str,
    native: NativeCode,
    arrays: list[NumpyArray],
    extents: tuple[int, ...],
    threads: int,
) -> None:
    if native.run(addresses(arrays), extents, threads):
        raise no_workspace(name)


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
    if not _kept() and memory.nbytes <= 4 * load_machine(None).cache_bytes(2):
        _kept().append(memory)


@cache
def _kept() -> list[NumpyArray]:
    """The buffer that no call uses, if there is one. Lists are safe to share among threads."""
    return []


LINE = 16
"""Elements of f32 in a cache line."""


@lru_cache(maxsize=64)
def _native_transform(code: WinogradCode) -> NativeCode:
    return native_code(code, load_machine(None), object_folder())
