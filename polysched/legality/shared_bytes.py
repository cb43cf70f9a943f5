"""Packed arrays and threads: elements that lie in one byte are one place in memory.

A store of a part of a byte reads the byte and writes all of it. Two threads that touch different
elements of one byte, one of them writing, would undo each other's work, though no dependence joins
the elements. In sequential loops and in vectors the stores come one after the other, or fill whole
bytes, so that only parallel loops have to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

import islpy as isl

from polysched.dependence.relations import Reference
from polysched.ir.kernel import Access, Array, Kernel, Statement, access_relation
from polysched.ir.smallest import smallest_pair
from polysched.ir.tree import Loop, LoopKind, Node, loops, path, statements
from polysched.legality.bit_layout import sharing_relation
from polysched.legality.verdict import Cause, Violation, ViolationKind, Witness
from polysched.legality.witness import occurrence
from polysched.schedule.program import Program


def shared_byte_violation(program: Program, tree: Node) -> Violation | None:
    """Two iterations of a parallel loop that touch one byte of a packed array which one writes."""
    for loop, source, sink, pairs in shared_bytes(program, tree):
        return _violation(program, loop, source, sink, pairs)
    return None


def shared_bytes(
    program: Program, tree: Node
) -> Iterator[tuple[Loop, Reference, Reference, isl.Map]]:
    """All pairs of instances that touch one byte at once, which the first of them writes."""
    parallel = [loop for loop in loops(tree) if loop.kind is LoopKind.PARALLEL]
    sharing = sharing_relations(program) if parallel else {}
    for loop in parallel:
        nest = path(tree, statements(loop)[0])
        around = nest[: [one is loop for one in nest].index(True)]
        for source, sink, pairs in sharing_pairs(program, loop, around, sharing):
            yield loop, source, sink, pairs


def sharing_relations(program: Program) -> dict[str, isl.Map]:
    """For each packed array the pairs of its elements that have a byte in common."""
    return {
        name: _sharing_relation(array, program.kernel)
        for name, array in program.arrays.items()
        if array.is_packed
    }


@lru_cache(maxsize=64)
def _sharing_relation(array: Array, kernel: Kernel) -> isl.Map:
    """Every step and every loop asks for the same ones again."""
    return sharing_relation(array, kernel.context)


def sharing_pairs(
    program: Program, loop: Loop, around: Iterable[Loop], sharing: Mapping[str, isl.Map]
) -> Iterator[tuple[Reference, Reference, isl.Map]]:
    """Pairs of instances in different iterations of a loop that meet in a byte which one writes.

    Args:
        around: the loops around it, in whose iterations the pairs agree.
        sharing: what :func:`sharing_relations` gives.
    """
    inside = [program.statements[name] for name in statements(loop)]
    accesses = [
        (Reference(statement.name, position), statement, access)
        for statement in inside
        for position, access in enumerate(statement.accesses)
        if access.array in sharing
    ]
    for source, writer, written in accesses:
        for sink, other, touched in accesses:
            if source.position or touched.array != written.array:
                continue
            pairs = _touching(writer, written, other, touched, sharing[written.array])
            for outer in around:
                same = outer.values[writer.name].eq_map(outer.values[other.name])
                pairs = pairs.intersect(same)
            one, another = loop.values[writer.name], loop.values[other.name]
            pairs = pairs.intersect(one.lt_map(another).union(one.gt_map(another)))
            if not pairs.is_empty():
                yield source, sink, pairs


def _violation(
    program: Program, loop: Loop, source: Reference, sink: Reference, pairs: isl.Map
) -> Violation:
    first, second = smallest_pair(pairs)
    return Violation(
        what=ViolationKind.PARALLEL,
        cause=Cause.SHARED_BYTE,
        witness=Witness(
            first.parameters,
            occurrence(program, source, first),
            occurrence(program, sink, second),
        ),
        array=program.statements[source.statement].target.array,
        loop=loop.name,
    )


def _touching(
    writer: Statement, written: Access, other: Statement, touched: Access, sharing: isl.Map
) -> isl.Map:
    """Pairs of instances whose elements share a byte."""
    elements = [access_relation(writer, written), access_relation(other, touched)]
    named = sharing.set_tuple_name(isl.dim_type.in_, written.array)
    named = named.set_tuple_name(isl.dim_type.out, touched.array)
    return elements[0].apply_range(named).apply_range(elements[1].reverse())
