"""Judging an order by running through every pair of instances, without checker and dependences.

All that depends on the kernel alone is found once: the instances at several sizes, which pairs of
their accesses touch one element, and in which order the program says. A schedule then only has to
be asked for the times of the instances.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polysched.fuzz.instances import SIZE, Block, Instances, Sizes, list_instances
from polysched.fuzz.timing import ranks, times
from polysched.ir.kernel import Access, Array, Kernel, Order, Role
from polysched.ir.memory import concrete_shape
from polysched.ir.points import Points, evaluate_many
from polysched.ir.tree import Node

Mask: TypeAlias = NDArray[np.bool_]

LARGEST_PAIRS = 400_000
"""Pairs of accesses to one element that are looked at for one kernel, at most."""


@dataclass(frozen=True, eq=False)
class Conflicts:
    """Pairs of accesses to one element, one of them writing, the program's earlier one first.

    All have shape (pairs,): the two instances as row numbers; whether either may come first (a
    reduction free in its order); whether they may run together (a read, then a write, of one
    statement).
    """

    first: Points
    second: Points
    reorderable: Mask
    reads_first: Mask


@dataclass(frozen=True, eq=False)
class Enumeration:
    """A kernel's instances at some sizes, and everything that touches one element.

    Attributes:
        conflicts: the pairs to be kept apart.
        is_outside: whether an access lies outside its array.
        is_undefined: whether an element is read that nothing has defined.
    """

    instances: Instances
    conflicts: Conflicts
    is_outside: bool
    is_undefined: bool

    @property
    def is_faulty(self) -> bool:
        """Whether the kernel itself, before any step, is at fault."""
        return self.is_outside or self.is_undefined


def enumerate_kernel(
    kernel: Kernel, ranges: Mapping[str, tuple[int, int]], most: int = 400
) -> Enumeration | None:
    """The instances of a kernel at all sizes in the given ranges, the smallest sizes first.

    Args:
        ranges: the least and the greatest value of each parameter.
        most: instances, of all sizes together; sizes beyond are left out.

    Returns:
        None if the smallest size has more instances already, or more than ``LARGEST_PAIRS`` pairs.
    """
    instances = list_instances(kernel, ranges, most)
    if instances is None:
        return None
    order = ranks(times(instances, kernel.body).rows)
    touches = _touches(instances, kernel.arrays)
    conflicts = _conflicts(instances, order, touches)
    if conflicts is None:
        return None
    is_undefined = _is_undefined(kernel, order, touches)
    return Enumeration(instances, conflicts, touches.is_outside, is_undefined)


@dataclass(frozen=True, eq=False)
class _Touches:
    """All accesses of all instances, shape (touches,) each."""

    array: Points
    element: Points
    instance: Points
    statement: Points
    position: Points
    is_outside: bool


def _touches(instances: Instances, arrays: Mapping[str, Array]) -> _Touches:
    numbers = {name: number for number, name in enumerate(arrays)}
    shapes = {
        name: np.array(
            [concrete_shape(array.shape, size) for size in instances.sizes], np.int64
        ).reshape(len(instances.sizes), len(array.shape))
        for name, array in arrays.items()
    }
    parts, is_outside = [], False
    rank = max((len(array.shape) for array in arrays.values()), default=0)
    for number, block in enumerate(instances.blocks):
        for position, access in enumerate(block.statement.accesses):
            columns = _elements(access, block)
            extents = shapes[access.array][block.variables[SIZE]]
            is_outside |= bool(((columns < 0) | (columns >= extents)).any())
            part = np.zeros((block.count, rank + 6), np.int64)
            part[:, 0] = numbers[access.array]
            part[:, 1] = block.variables[SIZE]
            part[:, 2 : 2 + columns.shape[1]] = columns
            part[:, -3] = np.arange(block.start, block.start + block.count)
            part[:, -2] = number
            part[:, -1] = position
            parts.append(part)
    table = np.concatenate(parts)
    return _Touches(
        array=table[:, 0],
        element=ranks(table[:, :-3]),
        instance=table[:, -3],
        statement=table[:, -2],
        position=table[:, -1],
        is_outside=is_outside,
    )


def _elements(access: Access, block: Block) -> Points:
    result = np.empty((block.count, len(access.subscripts)), np.int64)
    for dimension, subscript in enumerate(access.subscripts):
        result[:, dimension] = evaluate_many(subscript, block.variables)
    return result


def _conflicts(instances: Instances, order: Points, touches: _Touches) -> Conflicts | None:
    """Every ordered pair on one element, at least one of both writing."""
    by_element = np.argsort(touches.element, kind="stable")
    sorted_elements = touches.element[by_element]
    starts = np.searchsorted(sorted_elements, sorted_elements, side="left")
    ends = np.searchsorted(sorted_elements, sorted_elements, side="right")
    lengths = ends - starts
    if lengths.sum() > LARGEST_PAIRS:
        return None
    left = np.repeat(np.arange(len(by_element)), lengths)
    within = np.arange(len(left)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    right = np.repeat(starts, lengths) + within
    first, second = by_element[left], by_element[right]
    first_instance, second_instance = touches.instance[first], touches.instance[second]
    positions = touches.position[first], touches.position[second]
    kept = (order[first_instance] < order[second_instance]) & (
        (positions[0] == 0) | (positions[1] == 0)
    )
    first, second = first[kept], second[kept]
    own = touches.statement[first] == touches.statement[second]
    free = np.zeros(len(first), np.bool_)
    for number, block in enumerate(instances.blocks):
        reduction = block.statement.reduction
        if reduction is not None and reduction.order is Order.ANY:
            updates = [0, reduction.read]
            free |= (
                (touches.statement[first] == number)
                & np.isin(touches.position[first], updates)
                & np.isin(touches.position[second], updates)
            )
    reads_first = own & (touches.position[second] == 0) & (touches.position[first] != 0)
    return Conflicts(
        touches.instance[first], touches.instance[second], own & free, reads_first & ~(own & free)
    )


def _is_undefined(kernel: Kernel, order: Points, touches: _Touches) -> bool:
    """Whether an output or temporary is read where no instance before has written."""
    fresh = [
        number
        for number, array in enumerate(kernel.arrays.values())
        if array.role in (Role.OUTPUT, Role.TEMPORARY)
    ]
    never = np.iinfo(np.int64).max
    written_at = np.full(touches.element.max(initial=-1) + 1, never)
    writes = touches.position == 0
    np.minimum.at(written_at, touches.element[writes], order[touches.instance[writes]])
    reads = ~writes & np.isin(touches.array, fresh)
    return bool((written_at[touches.element[reads]] >= order[touches.instance[reads]]).any())


def violated(table: Enumeration, tree: Node) -> Mask:
    """Which conflicts an executed tree does not keep apart: shape (pairs,)."""
    when = times(table.instances, tree)
    rank = ranks(when.rows)
    pairs = table.conflicts
    first, second = rank[pairs.first], rank[pairs.second]
    wrong = np.where(pairs.reorderable, first == second, first > second)
    wrong |= (first == second) & ~pairs.reads_first
    for column, below in when.parallel:
        inside = np.zeros(len(rank), np.bool_)
        for block in table.instances.blocks:
            inside[block.rows] = block.statement.name in below
        outer = ranks(when.rows[:, :column])
        value = when.rows[:, column]
        wrong |= (
            inside[pairs.first]
            & inside[pairs.second]
            & (outer[pairs.first] == outer[pairs.second])
            & (value[pairs.first] != value[pairs.second])
        )
    return np.asarray(wrong, np.bool_)


def runs_two_as_one(table: Enumeration, tree: Node) -> bool:
    """Whether two instances at one size have one time and one lane."""
    when = times(table.instances, tree)
    sizes = np.concatenate([block.variables[SIZE] for block in table.instances.blocks])
    whole = np.column_stack([sizes, when.rows, when.lanes])
    return bool(np.unique(ranks(whole)).size < len(whole))


def keeps_order(kernel: Kernel, tree: Node, sizes: Sizes, most: int = 10_000) -> bool:
    """Whether an executed tree keeps a kernel's order at one size, and no two instances run as one.

    Raises:
        ValueError: there are more than ``most`` instances, or too many pairs.
    """
    ranges = {name: (sizes[name], sizes[name]) for name in kernel.parameters}
    table = enumerate_kernel(kernel, ranges, most)
    if table is None:
        raise ValueError(f"at {dict(sizes)} there is too much to enumerate; expected smaller sizes")
    return not violated(table, tree).any() and not runs_two_as_one(table, tree)
