"""Interruptions: tiles of a reduction that add their parts to one element at the same time.

Tiles of a reduction that is free in its order may swap, but each must add its part at one go:
between the copy into a buffer and the copy out of it no other tile may do the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polysched.dependence.relations import Dependence, DependenceKind
from polysched.dependence.table import where
from polysched.ir.kernel import Array
from polysched.ir.tree import Loop, Node
from polysched.legality.order import unordered
from polysched.legality.storage_fault import StorageFault
from polysched.legality.verdict import Cause
from polysched.schedule.program import Program


def interrupted(
    program: Program, tree: Node, array: Array, around: tuple[Loop, ...]
) -> Iterator[StorageFault]:
    """Two tiles that update one element of a reduction, neither of them at one go.

    That is asked of tiles with memory of their own as well: it is the element outside that counts.
    """
    free = where(program.dependences, lambda one: one.reorderable)
    for flow in free:
        out, into = flow.source.statement, flow.sink.statement
        if (
            flow.kind is not DependenceKind.FLOW
            or out == into
            or program.statements[into].target.array != array.name
        ):
            continue
        one_tile = _one_tile(program, flow)
        late = one_tile.apply_range(unordered(tree, flow.source, flow.sink, flow.relation))
        for anti in free:
            if (anti.source, anti.sink) != (flow.sink, flow.source):
                continue
            back = unordered(tree, anti.sink, anti.source, anti.relation.reverse()).reverse()
            both = late.intersect(back.apply_range(one_tile.reverse()))
            if not both.is_empty():
                ends = (flow.sink, flow.sink)
                yield StorageFault(array, Cause.INTERRUPTED, around, ends, both)


def _one_tile(program: Program, flow: Dependence) -> isl.Map:
    """From the copies of an element into a tile's buffer to those of the same out of it.

    Whatever has become of the buffer, and of the instances: the element is overwritten by the tile
    after it has read it, which no order may change. Where another tile's write comes after a read,
    either may come first.
    """
    found = isl.Map.empty(flow.relation.reverse().get_space())
    other = found
    for one in program.dependences:
        ends = (one.source, one.sink)
        if one.kind is DependenceKind.ANTI and not one.storage and ends == (flow.sink, flow.source):
            if one.reorderable:
                other = other.union(one.relation)
            else:
                found = found.union(one.relation)
    return found.subtract(other)
