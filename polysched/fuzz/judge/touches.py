"""Enumerate the elements that accesses touch, and the bytes of packed elements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from polysched.fuzz.judge.instances import SIZE, Block, Instances
from polysched.ir.core.kernel import Access, Array
from polysched.ir.core.packing import Rows
from polysched.ir.semantics.memory import concrete_shape
from polysched.ir.semantics.points import Points, evaluate_many, ranks


@dataclass(frozen=True, eq=False)
class Touches:
    """Touches of all accesses at all instances; each array has shape (touches,).

    Attributes:
        array: the number of the array.
        place: a number of the location; equal if two accesses touch one element, or one byte.
        instance: the row number of the instance.
        statement: the number of the statement.
        position: the position of the access in its statement; 0 is the write.
    """

    array: Points
    place: Points
    instance: Points
    statement: Points
    position: Points


@dataclass(frozen=True, eq=False)
class Used:
    """One access of a statement at all instances of the statement.

    Attributes:
        elements: the touched elements: shape (instances, dimensions).
        extents: the extents of the array at the size of the instance, same shape.
    """

    array: Array
    number: int
    statement: int
    position: int
    block: Block
    elements: Points
    extents: Points

    @property
    def is_outside(self) -> bool:
        """Whether some element lies outside the array."""
        return bool(((self.elements < 0) | (self.elements >= self.extents)).any())


def uses(instances: Instances, arrays: Mapping[str, Array]) -> Iterator[Used]:
    """Yield every access of every statement."""
    numbers = {name: number for number, name in enumerate(arrays)}
    shapes = {
        name: np.array(
            [concrete_shape(array.shape, size) for size in instances.sizes], np.int64
        ).reshape(len(instances.sizes), len(array.shape))
        for name, array in arrays.items()
    }
    for statement, block in enumerate(instances.blocks):
        for position, access in enumerate(block.statement.accesses):
            name = access.array
            extents = shapes[name][block.variables[SIZE]]
            elements = _elements(access, block)
            yield Used(arrays[name], numbers[name], statement, position, block, elements, extents)


def _elements(access: Access, block: Block) -> Points:
    result = np.empty((block.count, len(access.subscripts)), np.int64)
    for dimension, subscript in enumerate(access.subscripts):
        result[:, dimension] = evaluate_many(subscript, block.variables)
    return result


def element_touches(used: list[Used]) -> Touches:
    """Return the touches of elements."""
    return _touches([(access, access.elements) for access in used])


def byte_touches(used: list[Used]) -> Touches:
    """Return the touches of bytes by accesses to packed arrays: one for each byte of an element."""
    return _touches(
        [
            (access, np.where(first + step <= last, first + step, last))
            for access in used
            if access.array.rows is not None
            for first, last in [_bytes(access, access.array.rows)]
            for step in range(-(-access.array.dtype.bits // 8) + 1)
        ]
    )


def _bytes(used: Used, rows: Rows) -> tuple[Points, Points]:
    """Return the first and the last byte of each element, each after the indices of its row."""
    row, column = used.elements[:, :-1], used.elements[:, -1]
    if rows is Rows.CONTIGUOUS:
        for dimension in range(row.shape[1]):
            inner = used.extents[:, dimension + 1 :].prod(axis=1)
            column = column + row[:, dimension] * inner
        row = row[:, :0]
    bits = used.array.dtype.bits
    first, last = bits * column // 8, (bits * column + bits - 1) // 8
    return np.column_stack([row, first]), np.column_stack([row, last])


def _touches(parts: list[tuple[Used, Points]]) -> Touches:
    rank = max((places.shape[1] for _, places in parts), default=0)
    tables = [np.zeros((0, rank + 6), np.int64)]
    for used, places in parts:
        block = used.block
        table = np.zeros((block.count, rank + 6), np.int64)
        table[:, 0] = used.number
        table[:, 1] = block.variables[SIZE]
        table[:, 2 : 2 + places.shape[1]] = places
        table[:, -3] = np.arange(block.start, block.start + block.count)
        table[:, -2] = used.statement
        table[:, -1] = used.position
        tables.append(table)
    whole = np.concatenate(tables)
    return Touches(
        array=whole[:, 0],
        place=ranks(whole[:, :-3]),
        instance=whole[:, -3],
        statement=whole[:, -2],
        position=whole[:, -1],
    )
