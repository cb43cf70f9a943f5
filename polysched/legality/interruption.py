"""Interruptions: tiles of a reduction that add their parts to one element at the same time.

Tiles of a reduction that is free in its order may swap, but each must add its part at one go:
between the copy into a buffer and the copy out of it no other tile may do the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polysched.dependence.relations import DependenceKind
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
    free = [one for one in program.dependences if one.reorderable]
    for flow in free:
        out, into = flow.source.statement, flow.sink.statement
        if (
            flow.kind is not DependenceKind.FLOW
            or out == into
            or not _are_copies(program, array.name, into, out)
        ):
            continue
        one_tile = _same_instance(program, into, out)
        late = one_tile.apply_range(unordered(tree, flow.source, flow.sink, flow.relation))
        for anti in free:
            if (anti.source, anti.sink) != (flow.sink, flow.source):
                continue
            back = unordered(tree, anti.sink, anti.source, anti.relation.reverse()).reverse()
            both = late.intersect(back.apply_range(one_tile.reverse()))
            if not both.is_empty():
                ends = (flow.sink, flow.sink)
                yield StorageFault(array, Cause.INTERRUPTED, around, ends, both)


def _are_copies(program: Program, name: str, into: str, out: str) -> bool:
    """Whether two statements copy into the buffer and out of it, element by element."""
    statements = program.statements
    return statements[into].target.array == name and any(
        read.array == name for read in statements[out].reads
    )


def _same_instance(program: Program, one: str, other: str) -> isl.Map:
    """The pairs of instances of two copies that are about one element of one tile."""
    first, second = (program.statements[name].domain for name in (one, other))
    same = isl.Map.identity(first.get_space().map_from_set()).intersect_domain(first)
    return same.set_tuple_name(isl.dim_type.out, other).intersect_range(second)
