"""Emit loads and stores of windows: whole vectors, and shuffles of elements to lanes.

Loading a few whole vectors and shuffling them takes a fraction of the time of a gather. A window
loads only elements between elements that the statement reads. A store shuffles the lanes into
memory order first, and stores vectors under literal masks, so that it writes only the statement's
elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from llvmlite import ir

from polysched.ir.expr.dtypes import DType
from polysched.llvm.builder.intrinsics import constant, shuffled
from polysched.llvm.memory.arrays import BYTE
from polysched.llvm.values.expressions import INDEX
from polysched.llvm.values.masks import Mask, only_lanes
from polysched.vector.values import Address, Window


class Vectors(Protocol):
    """Loads and stores of consecutive elements that begin ``start`` elements after an address."""

    builder: ir.IRBuilder

    def vector(self, address: Address, start: int, element: ir.Type, lanes: Mask) -> ir.Value:
        """Load the elements of the lanes."""

    def store_part(self, address: Address, start: int, stored: ir.Value, lanes: Mask) -> None:
        """Store the elements of the lanes."""


def load_window(
    memory: Vectors, address: Address, element: ir.Type, window: Window, active: Mask
) -> ir.Value:
    """Load a vector whose lanes are ``window.distances`` elements after an address.

    If only the first lanes are active, the distances must not decrease.
    """
    distances, reach = window.distances, window.reach or window.distances
    builder, count, last = memory.builder, len(distances), max(reach)
    if last < count:
        return _within_one(memory, address, element, window, active)
    starts = _starts(count, last)
    result: ir.Value | None = None
    held: set[int] = set()
    for pair in (starts[at : at + 2] for at in range(0, len(starts), 2)):
        vectors = [
            memory.vector(address, start, element, _part(memory, window, start, count, active))
            for start in pair
        ]
        inside = {
            lane: next(
                position * count + distance - start
                for position, start in enumerate(pair)
                if start <= distance < start + count
            )
            for lane, distance in enumerate(distances)
            if pair[0] <= distance < pair[-1] + count
        }
        joined = shuffled(builder, vectors[0], vectors[-1], map(inside.get, range(count)))
        if result is None:
            result = joined
        else:
            chosen = [lane if lane in held else count + lane for lane in range(count)]
            result = shuffled(builder, result, joined, chosen)
        held |= set(inside)
    return result


def load_widened(
    memory: Vectors, address: Address, dtype: DType, window: Window, bits: int
) -> ir.Value | None:
    """Load every n-th integer as a part of an integer n times as wide, extended by zeros or sign.

    One or two shifts or a mask take the place of shuffles and of a conversion. All lanes are
    active.

    Args:
        dtype: of the elements.
        bits: the most bits of the result's integers.

    Returns:
        None if the distances are not steps of 2, 4 or 8 elements, or if the vectors of the window
        do not hold all of the wide integers.
    """
    distances, builder = window.distances, memory.builder
    first, step = distances[0], distances[1] - distances[0]
    wide = step * dtype.bits
    if step not in {2, 4, 8} or wide > bits or distances != _steps(first, step, len(distances)):
        return None
    start = max(0, first - step + 1)
    if start + step * len(distances) > max(window.reach or distances) + 1:
        return None
    loaded = memory.vector(address, start, ir.IntType(wide), Mask(len(distances)))
    below = (first - start) * dtype.bits
    above = wide - dtype.bits - below
    if dtype.is_signed:
        if above:
            loaded = builder.shl(loaded, constant(loaded.type, above))
        return builder.ashr(loaded, constant(loaded.type, wide - dtype.bits))
    if below:
        loaded = builder.lshr(loaded, constant(loaded.type, below))
    if above:
        loaded = builder.and_(loaded, constant(loaded.type, (1 << dtype.bits) - 1))
    return loaded


def _steps(first: int, step: int, count: int) -> tuple[int, ...]:
    return tuple(range(first, first + step * count, step))


def _part(memory: Vectors, window: Window, start: int, size: int, active: Mask) -> Mask:
    """The mask of the elements of one vector of a window that are loaded."""
    if active.bits is None:
        return Mask(size)
    users: list[tuple[int, ...]] = []
    distances, reach = window.distances, window.reach or window.distances
    for element in range(start, start + size):
        exact = tuple(lane for lane, distance in enumerate(distances) if distance == element)
        # The first lane whose last element is not before this element.
        after = tuple(lane for lane, distance in enumerate(reach) if distance >= element)[:1]
        users.append(exact if active.first is None else after)
    return active.of_elements(memory.builder, users)


def _within_one(
    memory: Vectors, address: Address, element: ir.Type, window: Window, active: Mask
) -> ir.Value:
    """Load the lanes from one vector, without reading beyond the last element."""
    distances = window.distances
    size, count = max(window.reach or distances) + 1, len(distances)
    is_power = size & (size - 1) == 0
    if active.bits is not None:
        lanes = _part(memory, window, 0, size if is_power else count, active)
    else:
        lanes = Mask(size) if is_power else only_lanes(count, tuple(range(size)))
    loaded = memory.vector(address, 0, element, lanes)
    return shuffled(memory.builder, loaded, loaded, distances)


def _starts(count: int, last: int) -> list[int]:
    """The first elements of a window's vectors; the last vector ends with the last element."""
    return [*range(0, last + 1 - count, count), last + 1 - count]


def store_window(
    memory: Vectors, address: Address, distances: Sequence[int], vector: ir.Value, active: Mask
) -> None:
    """Store the lanes of a vector to different elements after an address.

    No vector extends beyond the last element, because a load of the next iteration there would wait
    for the store.
    """
    count = len(distances)
    left = {distance: lane for lane, distance in enumerate(distances)}
    for start in _starts(count, max(distances)):
        part_elements = [element for element in left if start <= element < start + count]
        inside = {element - start: left.pop(element) for element in part_elements}
        if not inside:
            continue
        moved = shuffled(memory.builder, vector, vector, map(inside.get, range(count)))
        users = [(inside[at],) if at in inside else () for at in range(count)]
        memory.store_part(address, start, moved, active.of_elements(memory.builder, users))


def store_single(
    builder: ir.IRBuilder, vector: ir.Value, lane: int, pointer: ir.Value, behind: int, size: int
) -> None:
    """Store one lane of a vector ``behind`` elements of ``size`` bytes after a pointer.

    LLVM 22 miscompiles a store under a mask of one lane if the vector has been truncated before: it
    stores a wider element.
    """
    element = builder.extract_element(vector, ir.IntType(32)(lane))
    address = builder.gep(pointer, [INDEX(behind * size)], source_etype=BYTE)
    builder.store(element, address).align = size
