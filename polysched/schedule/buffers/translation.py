"""Translation of dependences after an array's tile has moved into a buffer.

Dependences are translated, never computed again. Accesses to ``array[e]`` inside a tile become
accesses to the buffer. Toward everything outside the tile, a read counts at the copy into the
buffer, a write at the copy out of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import islpy as isl

from polysched.dependence.relations import Dependence, DependenceKind, Reference
from polysched.ir.core.kernel import Statement, access_relation
from polysched.schedule.buffers.buffering import Buffering


def translated(
    plan: Buffering,
    dependences: Sequence[Dependence],
    copy_in: Statement | None,
    copy_out: Statement | None,
) -> tuple[Dependence, ...]:
    """Return the dependences of the program in which the references go to the buffer."""
    moved = _moved(plan, dependences, copy_in, copy_out)
    return _not_empty([*moved, *_copy_dependences(plan, copy_in, copy_out)])


def combined(
    plan: Buffering,
    dependences: Sequence[Dependence],
    initial: Statement,
    combine: Statement,
    statements: Mapping[str, Statement],
) -> tuple[Dependence, ...]:
    """Return the dependences after a reduction has been factored into partial results.

    Dependences between updates of one partial result stay as they are. Toward all other instances,
    and between updates of different partial results, an update counts at the combining statement.

    Args:
        plan: the buffer of partial results; it redirects the reduction's two references.
        initial: the statement that writes the neutral element to each partial result.
        combine: ``array[e] = array[e] op buffer[tile, e]``, a reduction with ``order="any"``.
        statements: the statements of the new program.
    """
    moved = [
        _on_one_element(d, statements) if d.may and d.array == plan.array.name else d
        for d in _moved(plan, dependences, combine, combine)
    ]
    return _not_empty([*moved, *_partial_dependences(plan, initial, combine, statements)])


def _on_one_element(dependence: Dependence, statements: Mapping[str, Statement]) -> Dependence:
    """Remove from a conservative dependence the pairs that certainly touch different elements.

    An update that may touch many elements stands for all of them; its combination touches one each.
    """
    touched = []
    may = False
    for reference in (dependence.source, dependence.sink):
        statement = statements[reference.statement]
        access = statement.accesses[reference.position]
        touched.append(access_relation(statement, access))
        may = may or access.is_data_dependent
    together = touched[0].apply_range(touched[1].reverse())
    return replace(dependence, relation=dependence.relation.intersect(together), may=may)


def _not_empty(dependences: list[Dependence]) -> tuple[Dependence, ...]:
    return tuple(d for d in dependences if not d.relation.is_empty())


def _moved(
    plan: Buffering,
    dependences: Sequence[Dependence],
    copy_in: Statement | None,
    copy_out: Statement | None,
) -> list[Dependence]:
    """Translate dependences: inside a tile to the buffer, else to the copies for the tile."""
    result: list[Dependence] = []
    for dependence in dependences:
        if dependence.array != plan.array.name:
            result.append(dependence)
            continue
        source_in, sink_in = dependence.source in plan.redirect, dependence.sink in plan.redirect
        ends = [dependence.source] * source_in + [dependence.sink] * sink_in
        wanted = [copy_in if end.position else copy_out for end in ends]
        copies = [copy for copy in wanted if copy is not None]
        has_copies = len(copies) == len(ends)
        outside = dependence
        if source_in and sink_in:
            inside = plan.same_tile(dependence)
            result.append(replace(dependence, array=plan.buffer.name, relation=inside))
            if has_copies:
                outside = replace(dependence, relation=plan.other_tile(dependence))
        if not has_copies:  # an end without a copy has no pairs outside the tile
            continue
        if source_in:
            outside = _at_copy(plan, outside, copies[0], source=True)
        if sink_in:
            outside = _at_copy(plan, outside, copies[-1], source=False)
        result.append(outside)
    return result


def _at_copy(
    plan: Buffering, dependence: Dependence, copy: Statement, *, source: bool
) -> Dependence:
    """Move one end of a dependence to the copy that stands for it outside the tile."""
    end = dependence.source if source else dependence.sink
    to_copy = named_copy(plan.redirect[end], copy)
    reference = Reference(copy.name, 1 if end.position else 0)
    if source:
        return replace(
            dependence, source=reference, relation=dependence.relation.apply_domain(to_copy)
        )
    return replace(dependence, sink=reference, relation=dependence.relation.apply_range(to_copy))


def named_copy(redirect: isl.Map, copy: Statement) -> isl.Map:
    """Return a redirection as a map to the instances of a copy statement that exist."""
    return redirect.set_tuple_name(isl.dim_type.out, copy.name).intersect_range(copy.domain)


def _copy_dependences(
    plan: Buffering, copy_in: Statement | None, copy_out: Statement | None
) -> list[Dependence]:
    """Return the dependences between the copies, and between them and the redirected references."""
    added: list[Dependence] = []
    name = plan.buffer.name
    for reference, redirect in plan.redirect.items():
        is_read = reference.position > 0
        if copy_in is not None:
            kind = DependenceKind.FLOW if is_read else DependenceKind.OUTPUT
            relation = named_copy(redirect, copy_in).reverse()
            added.append(Dependence(kind, name, Reference(copy_in.name, 0), reference, relation))
        if copy_out is not None and not is_read:
            relation = named_copy(redirect, copy_out)
            sink = Reference(copy_out.name, 1)
            added.append(Dependence(DependenceKind.FLOW, name, reference, sink, relation))
    if copy_in is not None and copy_out is not None:
        pairs = _same_element(copy_in, copy_out)
        source, sink = Reference(copy_in.name, 0), Reference(copy_out.name, 1)
        added.append(Dependence(DependenceKind.FLOW, name, source, sink, pairs))
        source, sink = Reference(copy_in.name, 1), Reference(copy_out.name, 0)
        added.append(Dependence(DependenceKind.ANTI, plan.array.name, source, sink, pairs))
    return added


def _partial_dependences(
    plan: Buffering, initial: Statement, combine: Statement, statements: Mapping[str, Statement]
) -> list[Dependence]:
    """Return the dependences of partial results: initialization, updates and combination."""
    name = plan.buffer.name
    start, use = Reference(initial.name, 0), Reference(combine.name, 2)
    added = [Dependence(DependenceKind.FLOW, name, start, use, _same_element(initial, combine))]
    for reference, redirect in plan.redirect.items():
        is_read = reference.position > 0
        kind = DependenceKind.FLOW if is_read else DependenceKind.OUTPUT
        may = statements[reference.statement].target.is_data_dependent
        relation = named_copy(redirect, initial).reverse()
        added.append(Dependence(kind, name, start, reference, relation, may=may))
        if not is_read:
            relation = named_copy(redirect, combine)
            added.append(Dependence(DependenceKind.FLOW, name, reference, use, relation, may=may))
    return added


def _same_element(first: Statement, second: Statement) -> isl.Map:
    pairs = isl.Map.identity(first.domain.get_space().map_from_set())
    pairs = pairs.intersect_domain(first.domain)
    return pairs.set_tuple_name(isl.dim_type.out, second.name).intersect_range(second.domain)
