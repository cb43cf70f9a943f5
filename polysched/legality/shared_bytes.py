"""Packed arrays and threads: elements that lie in one byte are one place in memory.

A store of a part of a byte reads the byte and writes all of it. Two threads that touch different
elements of one byte, one of them writing, would undo each other's work, though no dependence joins
the elements. In sequential loops and in vectors the stores come one after the other, or fill whole
bytes, so that only parallel loops have to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import islpy as isl

from polysched.dependence.relations import Reference
from polysched.ir.expressions import Constant
from polysched.ir.kernel import Access, Array, Statement, access_relation
from polysched.ir.packing import Rows
from polysched.ir.smallest import smallest_pair
from polysched.ir.tree import Loop, LoopKind, Node, loops, path, statements
from polysched.legality.verdict import Cause, Violation, ViolationKind, Witness
from polysched.legality.witness import numbers, occurrence
from polysched.schedule.program import Program


def shared_byte_violation(program: Program, tree: Node) -> Violation | None:
    """Two iterations of a parallel loop that touch one byte of a packed array which one writes."""
    sharing = sharing_relations(program)
    if not sharing:
        return None
    for loop in loops(tree):
        if loop.kind is not LoopKind.PARALLEL:
            continue
        nest = path(tree, statements(loop)[0])
        around = nest[: [one is loop for one in nest].index(True)]
        for source, sink, pairs in sharing_pairs(program, loop, around, sharing):
            return _violation(program, loop, source, sink, pairs)
    return None


def sharing_relations(program: Program) -> dict[str, isl.Map]:
    """The relation of :func:`sharing_relation` for each packed array."""
    arrays = program.arrays.items()
    return {name: sharing_relation(array) for name, array in arrays if array.is_packed}


def sharing_relation(array: Array) -> isl.Map:
    """Pairs of elements of a packed array that lie, or may lie, in one byte.

    Of contiguous rows whose length is a parameter any two elements of different rows may.
    """
    bits, rank = array.dtype.bits, len(array.shape)
    names = [f"e{dimension}" for dimension in range(rank)]
    lengths = [one.value for one in array.shape[1:] if isinstance(one, Constant)]
    if array.rows is Rows.PADDED:
        outer, first = ", ".join(names[:-1]), f"{bits} * {names[-1]}"
    elif len(lengths) == rank - 1:
        outer, place = "", names[0]
        for name, length in zip(names[1:], lengths, strict=True):
            place = f"{length} * ({place}) + {name}"
        first = f"{bits} * ({place})"
    else:
        return _cautious(bits, names)
    touched = f"{outer}, byte" if outer else "byte"
    bytes_of = isl.Map(
        f"{{ [{', '.join(names)}] -> [{touched}] : "
        f"8 * byte <= {first} + {bits - 1} and {first} <= 8 * byte + 7 }}"
    )
    return bytes_of.apply_range(bytes_of.reverse())


def _cautious(bits: int, names: list[str]) -> isl.Map:
    others = [f"o{name}" for name in names]
    same = " and ".join(
        f"{name} = {other}" for name, other in zip(names[:-1], others[:-1], strict=True)
    )
    differ = " or ".join(
        f"{name} < {other} or {name} > {other}"
        for name, other in zip(names[:-1], others[:-1], strict=True)
    )
    near = f"-{bits + 7} < {bits} * ({names[-1]} - {others[-1]}) < {bits + 7}"
    return isl.Map(
        f"{{ [{', '.join(names)}] -> [{', '.join(others)}] : ({same} and {near}) or {differ} }}"
    )


def sharing_pairs(
    program: Program, loop: Loop, around: Iterable[Loop], sharing: Mapping[str, isl.Map]
) -> Iterator[tuple[Reference, Reference, isl.Map]]:
    """Pairs of instances in different iterations of a loop that meet in a byte which one writes.

    Args:
        around: the loops around it, in whose iterations the pairs agree.
        sharing: of each packed array the relation of :func:`sharing_relation`.
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
    first, second = smallest_pair(_sure(program, source, sink, pairs))
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


def _sure(program: Program, source: Reference, sink: Reference, pairs: isl.Map) -> isl.Map:
    """The pairs, at the smallest sizes that have any, whose elements share a byte for sure; all
    pairs if there are none: where rows have the length of a parameter, they may share one.
    """
    sizes = dict(smallest_pair(pairs)[0].parameters)
    ends = [program.statements[one.statement] for one in (source, sink)]
    accesses = [end.accesses[one.position] for end, one in zip(ends, (source, sink), strict=True)]
    array = program.arrays[accesses[0].array]
    shape = tuple(map(Constant, numbers(array.shape, sizes)))
    exact = sharing_relation(replace(array, shape=shape))
    sure = pairs.intersect(_touching(ends[0], accesses[0], ends[1], accesses[1], exact))
    for position in range(sure.dim(isl.dim_type.param)):
        size = sizes[str(sure.get_dim_name(isl.dim_type.param, position))]
        sure = sure.fix_val(isl.dim_type.param, position, isl.Val(size))
    return pairs if sure.is_empty() else sure


def _touching(
    writer: Statement, written: Access, other: Statement, touched: Access, sharing: isl.Map
) -> isl.Map:
    """Pairs of instances whose elements share a byte."""
    elements = [access_relation(writer, written), access_relation(other, touched)]
    named = sharing.set_tuple_name(isl.dim_type.in_, written.array)
    named = named.set_tuple_name(isl.dim_type.out, touched.array)
    return elements[0].apply_range(named).apply_range(elements[1].reverse())
