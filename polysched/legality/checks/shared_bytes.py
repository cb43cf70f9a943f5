"""Byte-sharing check: data races between threads on packed elements of one byte.

A store of a packed element reads a byte and writes it back. If two threads touch different elements
of one byte and one of the threads writes, an update can get lost, although no dependence relates
the elements. Only parallel loops are checked: in sequential loops and vectors, the stores run one
after the other or fill whole bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

import islpy as isl

from polysched.dependence.relations import Reference
from polysched.ir.core.kernel import Access, Array, Kernel, Statement, access_relation
from polysched.ir.core.tree import Loop, LoopKind, Node, loops, path, statements
from polysched.ir.isl.smallest import smallest_pair
from polysched.legality.checks.bit_layout import sharing_relation
from polysched.legality.verdicts.verdict import Cause, Violation, ViolationKind, Witness
from polysched.legality.verdicts.witness import occurrence
from polysched.schedule.core.program import Program


def shared_byte_violation(program: Program, tree: Node) -> Violation | None:
    """Find two iterations of a parallel loop that race for a byte of a packed array."""
    for loop, source, sink, pairs in shared_bytes(program, tree):
        return _violation(program, loop, source, sink, pairs)
    return None


def shared_bytes(
    program: Program, tree: Node
) -> Iterator[tuple[Loop, Reference, Reference, isl.Map]]:
    """Yield the pairs of instances that touch one byte at once; the first of them writes it."""
    parallel = [loop for loop in loops(tree) if loop.kind is LoopKind.PARALLEL]
    sharing = sharing_relations(program) if parallel else {}
    for loop in parallel:
        nest = path(tree, statements(loop)[0])
        around = nest[: [other is loop for other in nest].index(True)]
        for source, sink, pairs in sharing_pairs(program, loop, around, sharing):
            yield loop, source, sink, pairs


def sharing_relations(program: Program) -> dict[str, isl.Map]:
    """Return, for each packed array, the pairs of elements that share a byte."""
    return {
        name: _sharing_relation(array, program.kernel)
        for name, array in program.arrays.items()
        if array.is_packed
    }


@lru_cache(maxsize=64)
def _sharing_relation(array: Array, kernel: Kernel) -> isl.Map:
    # Cached, because the check of every step and every loop needs the same relations.
    return sharing_relation(array, kernel.context)


def sharing_pairs(
    program: Program, loop: Loop, around: Iterable[Loop], sharing: Mapping[str, isl.Map]
) -> Iterator[tuple[Reference, Reference, isl.Map]]:
    """Yield the pairs of instances in different iterations of a loop that touch one byte.

    The first instance of a pair writes the byte.

    Args:
        around: the loops around ``loop``; both instances run in the same iteration of them.
        sharing: the result of :func:`sharing_relations`.
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
            first, second = loop.values[writer.name], loop.values[other.name]
            pairs = pairs.intersect(first.lt_map(second).union(first.gt_map(second)))
            if not pairs.is_empty():
                yield source, sink, pairs


def _violation(
    program: Program, loop: Loop, source: Reference, sink: Reference, pairs: isl.Map
) -> Violation:
    first, second = smallest_pair(pairs)
    return Violation(
        kind=ViolationKind.PARALLEL,
        cause=Cause.SHARED_BYTE,
        witness=Witness(
            first.parameters, occurrence(program, source, first), occurrence(program, sink, second)
        ),
        array=program.statements[source.statement].target.array,
        loop=loop.name,
    )


def _touching(
    writer: Statement, written: Access, other: Statement, touched: Access, sharing: isl.Map
) -> isl.Map:
    """Return the pairs of instances whose elements share a byte."""
    elements = [access_relation(writer, written), access_relation(other, touched)]
    named = sharing.set_tuple_name(isl.dim_type.in_, written.array)
    named = named.set_tuple_name(isl.dim_type.out, touched.array)
    return elements[0].apply_range(named).apply_range(elements[1].reverse())
