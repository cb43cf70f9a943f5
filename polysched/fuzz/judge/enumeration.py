"""Judge an order by enumerating all pairs of instances, independently of the checker.

Everything that depends only on the kernel is computed once: the instances at several sizes, the
pairs of accesses to one element, and their order in the program. Judging a schedule then only needs
the timestamps of the instances.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polysched.fuzz.judge.instances import SIZE, Instances, Sizes, list_instances
from polysched.fuzz.judge.timing import times
from polysched.fuzz.judge.touches import Touches, byte_touches, element_touches, uses
from polysched.ir.core.kernel import Kernel, Order, Role
from polysched.ir.core.tree import Node
from polysched.ir.semantics.points import Points, ranks

Mask: TypeAlias = NDArray[np.bool_]

LARGEST_PAIRS = 400_000
"""Most pairs of accesses to one element to enumerate for one kernel."""


@dataclass(frozen=True, eq=False)
class Conflicts:
    """Pairs of accesses to one element, at least one of them a write, in program order.

    All arrays have shape (pairs,).

    Attributes:
        first, second: the row numbers of the two instances.
        reorderable: whether either may run first (a reduction with the order policy ``any``).
        reads_first: whether both may run in lanes of one vector (a read before a write of the same
            statement).
        only_threads: whether they share only a byte, so that only threads conflict.
    """

    first: Points
    second: Points
    reorderable: Mask
    reads_first: Mask
    only_threads: Mask

    def joined(self, other: Conflicts) -> Conflicts:
        """Concatenate the pairs of both."""
        return Conflicts(
            *(
                np.concatenate([getattr(self, column.name), getattr(other, column.name)])
                for column in fields(self)
            )
        )


@dataclass(frozen=True, eq=False)
class Enumeration:
    """Instances of a kernel at some sizes, with their conflicts.

    Attributes:
        conflicts: the pairs whose order matters.
        is_outside: whether an access lies outside its array.
        is_undefined: whether an instance reads an undefined element.
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
    """Enumerate a kernel at all sizes in the given ranges, the smallest sizes first.

    Args:
        ranges: the least and the greatest value of each parameter.
        most: the most instances, of all sizes together; larger sizes are left out.

    Returns:
        The enumeration; None if the smallest size alone has more than ``most`` instances, or if
        there are more than ``LARGEST_PAIRS`` pairs.
    """
    instances = list_instances(kernel, ranges, most)
    if instances is None:
        return None
    order = ranks(times(instances, kernel.body).rows)
    used = list(uses(instances, kernel.arrays))
    touches = element_touches(used)
    conflicts = _conflicts(instances, order, touches)
    neighbors = _neighbors(order, byte_touches(used))
    if conflicts is None or neighbors is None:
        return None
    return Enumeration(
        instances,
        conflicts.joined(neighbors),
        is_outside=any(access.is_outside for access in used),
        is_undefined=_is_undefined(kernel, order, touches),
    )


def _conflicts(instances: Instances, order: Points, touches: Touches) -> Conflicts | None:
    """Return all pairs in program order on one element, at least one of them a write."""
    pairs = _pairs(order, touches)
    if pairs is None:
        return None
    first, second = pairs
    same = touches.statement[first] == touches.statement[second]
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
    reads_first = same & (touches.position[second] == 0) & (touches.position[first] != 0)
    return Conflicts(
        touches.instance[first],
        touches.instance[second],
        same & free,
        reads_first & ~(same & free),
        np.zeros(len(first), np.bool_),
    )


def _neighbors(order: Points, touches: Touches) -> Conflicts | None:
    """Return all pairs in one byte, at least one of them a write: threads must not share it."""
    pairs = _pairs(order, touches)
    if pairs is None:
        return None
    first, second = (touches.instance[ends] for ends in pairs)
    no, yes = np.zeros(len(first), np.bool_), np.ones(len(first), np.bool_)
    return Conflicts(first, second, no, no, yes)


def _pairs(order: Points, touches: Touches) -> tuple[Points, Points] | None:
    """Return pairs of touches of one location, at least one a write, by instances in order.

    The result is None if there are more than ``LARGEST_PAIRS`` candidate pairs.
    """
    by_place = np.argsort(touches.place, kind="stable")
    sorted_places = touches.place[by_place]
    starts = np.searchsorted(sorted_places, sorted_places, side="left")
    ends = np.searchsorted(sorted_places, sorted_places, side="right")
    lengths = ends - starts
    if lengths.sum() > LARGEST_PAIRS:
        return None
    left = np.repeat(np.arange(len(by_place)), lengths)
    within = np.arange(len(left)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    right = np.repeat(starts, lengths) + within
    first, second = by_place[left], by_place[right]
    kept = (order[touches.instance[first]] < order[touches.instance[second]]) & (
        (touches.position[first] == 0) | (touches.position[second] == 0)
    )
    return first[kept], second[kept]


def _is_undefined(kernel: Kernel, order: Points, touches: Touches) -> bool:
    """Whether an instance reads an element of an output or temporary before any write."""
    fresh = [
        number
        for number, array in enumerate(kernel.arrays.values())
        if array.role in (Role.OUTPUT, Role.TEMPORARY)
    ]
    never = np.iinfo(np.int64).max
    written_at = np.full(touches.place.max(initial=-1) + 1, never)
    writes = touches.position == 0
    np.minimum.at(written_at, touches.place[writes], order[touches.instance[writes]])
    reads = ~writes & np.isin(touches.array, fresh)
    return bool((written_at[touches.place[reads]] >= order[touches.instance[reads]]).any())


def violated(table: Enumeration, tree: Node) -> Mask:
    """Return the mask of conflicts whose order an executed tree breaks: shape (pairs,)."""
    when = times(table.instances, tree)
    rank = ranks(when.rows)
    pairs = table.conflicts
    first, second = rank[pairs.first], rank[pairs.second]
    wrong = np.where(pairs.reorderable, first == second, first > second)
    wrong |= (first == second) & ~pairs.reads_first
    wrong &= ~pairs.only_threads
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
    """Whether two instances at one size have the same timestamp and lane."""
    when = times(table.instances, tree)
    sizes = np.concatenate([block.variables[SIZE] for block in table.instances.blocks])
    whole = np.column_stack([sizes, when.rows, when.lanes])
    return bool(np.unique(ranks(whole)).size < len(whole))


def keeps_order(kernel: Kernel, tree: Node, sizes: Sizes, most: int = 10_000) -> bool:
    """Whether an executed tree keeps a kernel's order at one size, with distinct timestamps."""
    ranges = {name: (sizes[name], sizes[name]) for name in kernel.parameters}
    table = enumerate_kernel(kernel, ranges, most)
    if table is None:
        raise ValueError(f"at {dict(sizes)} there is too much to enumerate; expected smaller sizes")
    return not violated(table, tree).any() and not runs_two_as_one(table, tree)
