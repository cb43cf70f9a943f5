"""Loads and stores of windows: whole vectors, and shuffles that move the elements to their lanes.

Loading a few whole vectors and shuffling them takes a fraction of the time of a gather. No element
is loaded that does not lie between two elements that the statements of a block read. A store moves
the lanes to their places first and stores vectors under literal masks, so that only the elements
themselves are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from llvmlite import ir

from polysched.llvm.builder.intrinsics import shuffled
from polysched.llvm.memory.arrays import BYTE
from polysched.llvm.values.expressions import INDEX
from polysched.llvm.values.masks import Mask, only_lanes
from polysched.vector.values import Address, Window


class Vectors(Protocol):
    """Loads and stores consecutive elements that begin ``start`` elements behind an address."""

    builder: ir.IRBuilder

    def vector(self, address: Address, start: int, element: ir.Type, lanes: Mask) -> ir.Value:
        """Load the elements of the lanes."""

    def store_part(self, address: Address, start: int, stored: ir.Value, lanes: Mask) -> None:
        """Write the elements of the lanes."""


def load_window(memory: Vectors, address: Address, element: ir.Type, window: Window) -> ir.Value:
    """The vector whose lanes lie the window's distances behind an address."""
    distances = window.distances
    builder, count = memory.builder, len(distances)
    last = max(*distances, window.size - 1)
    if last < count:
        return _within_one(memory, address, element, distances, last + 1)
    starts = _starts(count, last)
    result: ir.Value | None = None
    held: set[int] = set()
    for pair in (starts[at : at + 2] for at in range(0, len(starts), 2)):
        vectors = [memory.vector(address, start, element, Mask(count)) for start in pair]
        inside = {
            lane: next(
                position * count + distance - start
                for position, start in enumerate(pair)
                if start <= distance < start + count
            )
            for lane, distance in enumerate(distances)
            if pair[0] <= distance < pair[-1] + count
        }
        lanes = [inside.get(lane, 0) for lane in range(count)]
        joined = shuffled(builder, vectors[0], vectors[-1], lanes)
        if result is None:
            result, held = joined, set(inside)
        else:
            chosen = [lane if lane in held else count + lane for lane in range(count)]
            result = shuffled(builder, result, joined, chosen)
    return result


def _within_one(
    memory: Vectors, address: Address, element: ir.Type, distances: Sequence[int], size: int
) -> ir.Value:
    """The lanes from one vector, which reads nothing behind the last element."""
    count = len(distances)
    is_power = size & (size - 1) == 0
    lanes = Mask(size) if is_power else only_lanes(count, tuple(range(size)))
    loaded = memory.vector(address, 0, element, lanes)
    return shuffled(memory.builder, loaded, loaded, distances)


def _starts(count: int, last: int) -> list[int]:
    """The first elements of a window's vectors; the last vector ends with the last element."""
    return [*range(0, last + 1 - count, count), last + 1 - count]


def store_window(
    memory: Vectors, address: Address, distances: Sequence[int], vector: ir.Value
) -> None:
    """Write the lanes of a vector to different elements behind an address.

    No vector goes beyond the last element: a load of the next iteration there would wait for it.
    """
    count = len(distances)
    left = {distance: lane for lane, distance in enumerate(distances)}
    for start in _starts(count, max(distances)):
        here = [place for place in left if start <= place < start + count]
        inside = {place - start: left.pop(place) for place in here}
        if not inside:
            continue
        lanes = [inside.get(at, 0) for at in range(count)]
        moved = shuffled(memory.builder, vector, vector, lanes)
        memory.store_part(address, start, moved, only_lanes(count, tuple(sorted(inside))))


def store_single(
    builder: ir.IRBuilder, vector: ir.Value, lane: int, pointer: ir.Value, behind: int, size: int
) -> None:
    """Write one lane of a vector ``behind`` elements of ``size`` bytes behind a pointer.

    LLVM 22 stores a wider element under a mask of one lane if the vector has been narrowed before.
    """
    element = builder.extract_element(vector, ir.IntType(32)(lane))
    place = builder.gep(pointer, [INDEX(behind * size)], source_etype=BYTE)
    builder.store(element, place).align = size
