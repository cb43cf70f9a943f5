"""Dependences after an array's tile has moved into a buffer: translated, never computed again.

What happened to ``array[e]`` inside a tile now happens to the buffer; towards everything outside
the tile, reads count at the copy into the buffer and writes at the copy out of it.
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polysched.dependence.relations import Dependence, DependenceKind, Reference
from polysched.ir.kernel import Statement
from polysched.schedule.buffering import Buffering


def translated(
    plan: Buffering,
    dependences: tuple[Dependence, ...],
    copy_in: Statement | None,
    copy_out: Statement | None,
) -> tuple[Dependence, ...]:
    """The dependences of the program in which the references go to the buffer."""
    result: list[Dependence] = []
    for dependence in dependences:
        if dependence.array != plan.array.name:
            result.append(dependence)
            continue
        source_in, sink_in = dependence.source in plan.redirect, dependence.sink in plan.redirect
        outside = dependence
        if source_in and sink_in:
            inside = plan.same_tile(dependence)
            result.append(replace(dependence, array=plan.buffer.name, relation=inside))
            outside = replace(dependence, relation=dependence.relation.subtract(inside))
        if source_in:
            outside = _at_copy(plan, outside, copy_in, copy_out, source=True)
        if sink_in:
            outside = _at_copy(plan, outside, copy_in, copy_out, source=False)
        result.append(outside)
    result.extend(_copy_dependences(plan, copy_in, copy_out))
    return tuple(found for found in result if not found.relation.is_empty())


def _at_copy(
    plan: Buffering,
    dependence: Dependence,
    copy_in: Statement | None,
    copy_out: Statement | None,
    *,
    source: bool,
) -> Dependence:
    """Move one end of a dependence to the copy that stands for it outside the tile."""
    end = dependence.source if source else dependence.sink
    copy = copy_in if end.position else copy_out
    if copy is None:
        return replace(dependence, relation=dependence.relation.subtract(dependence.relation))
    to_copy = named_copy(plan.redirect[end], copy)
    reference = Reference(copy.name, 1 if end.position else 0)
    if source:
        return replace(
            dependence, source=reference, relation=dependence.relation.apply_domain(to_copy)
        )
    return replace(dependence, sink=reference, relation=dependence.relation.apply_range(to_copy))


def named_copy(redirect: isl.Map, copy: Statement) -> isl.Map:
    """A redirection as a map to the instances of a copy statement that exist."""
    return redirect.set_tuple_name(isl.dim_type.out, copy.name).intersect_range(copy.domain)


def _copy_dependences(
    plan: Buffering, copy_in: Statement | None, copy_out: Statement | None
) -> list[Dependence]:
    """What ties the copies to the references inside the tile, and to each other."""
    made: list[Dependence] = []
    name = plan.buffer.name
    for reference, redirect in plan.redirect.items():
        is_read = reference.position > 0
        if copy_in is not None:
            kind = DependenceKind.FLOW if is_read else DependenceKind.OUTPUT
            relation = named_copy(redirect, copy_in).reverse()
            made.append(Dependence(kind, name, Reference(copy_in.name, 0), reference, relation))
        if copy_out is not None and not is_read:
            relation = named_copy(redirect, copy_out)
            sink = Reference(copy_out.name, 1)
            made.append(Dependence(DependenceKind.FLOW, name, reference, sink, relation))
    if copy_in is not None and copy_out is not None:
        pairs = isl.Map.identity(copy_in.domain.get_space().map_from_set()).intersect_domain(
            copy_in.domain
        )
        pairs = pairs.set_tuple_name(isl.dim_type.out, copy_out.name)
        pairs = pairs.intersect_range(copy_out.domain)
        source, sink = Reference(copy_in.name, 0), Reference(copy_out.name, 1)
        made.append(Dependence(DependenceKind.FLOW, name, source, sink, pairs))
        source, sink = Reference(copy_in.name, 1), Reference(copy_out.name, 0)
        made.append(Dependence(DependenceKind.ANTI, plan.array.name, source, sink, pairs))
    return made
