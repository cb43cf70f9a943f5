"""Value-based dependence analysis: the instance whose value a read sees, and the value's lifetime.

Memory-based flow relates a read to every earlier write of its element, but only the last write
produced the value. So a pair is removed if another instance writes the element in between, which
the complete memory-based records show (Feautrier, "Dataflow analysis of array and scalar
references", 1991, by composition instead of parametric maxima)::

    value(p -> c) = flow(p -> c) - union over p2 of output(p -> p2) . flow(p2 -> c)

An instance that reads the element that it overwrites is an *update*, such as a step of a reduction:
it continues the value. The first write of a value is its *root*. A root is not an update; if it
reads its own element, it reads the contents that the caller passed in. A value lives from its root
to the last read before the next root writes the element.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import product

import islpy as isl

from polysched.dependence.relations import Dependence, DependenceKind, Reference
from polysched.dependence.table import DependenceTable, renamed
from polysched.ir.core.kernel import Statement
from polysched.ir.isl.shared_results import remembered

_Numbered = tuple[Dependence, int]
"""A record and the number of its pattern."""


def value_flows(dependences: Sequence[Dependence]) -> tuple[Dependence, ...]:
    """Restrict the flow dependences to value-based pairs: no other write comes in between.

    Without reductions with ``order="any"`` the result is exact: each read instance has at most one
    source, the instance that wrote its value in the declared program.

    The instances of one reduction with the policy ``any`` have no fixed order, so none of them
    overwrites another. Each may see the value from before the reduction or the result of any other
    instance, and any of them may be the last. All their pairs remain, except where another
    statement writes the element in between.

    A write with data-dependent subscripts may go to another element, so it never counts as an
    overwrite. With such writes the result holds every pair that *may* be the last write.

    Args:
        dependences: *complete* memory-based records, of a kernel or of a scheduled program.
    """
    patterns: Sequence[int] = range(len(dependences))
    statements: Mapping[str, Statement] = {}
    if isinstance(dependences, DependenceTable):
        patterns, statements = dependences.pattern_of.tolist(), dependences.statements
    outputs: dict[Reference, list[_Numbered]] = {}
    flows: dict[tuple[Reference, Reference], list[_Numbered]] = {}
    for dependence, pattern in zip(dependences, patterns, strict=True):
        if dependence.reorderable or (dependence.may and dependence.kind is DependenceKind.OUTPUT):
            continue
        if dependence.kind is DependenceKind.OUTPUT:
            outputs.setdefault(dependence.source, []).append((dependence, pattern))
        elif dependence.kind is DependenceKind.FLOW:
            pair = dependence.source, dependence.sink
            flows.setdefault(pair, []).append((dependence, pattern))
    known: dict[Hashable, isl.Map] = {}
    position = {
        name: at for at, name in enumerate(dict.fromkeys(f.source.statement for f in dependences))
    }
    value_based = []
    for flow, pattern in zip(dependences, patterns, strict=True):
        if flow.kind is not DependenceKind.FLOW:
            continue
        between = {
            (to_write, from_write): (first, second)
            for first, to_write in outputs.get(flow.source, ())
            for second, from_write in flows.get((first.sink, flow.sink), ())
        }
        # Records of one pattern differ in names only, and so do their compositions.
        key = pattern, frozenset(between)
        values = known.get(key)
        if values is None:
            values = flow.relation
            if between and not _is_overwritten(flow, between.values(), position):
                written = reduce(isl.Map.union, (_through(*pair) for pair in between.values()))
                values = values.subtract(written)
            elif between:
                values = isl.Map.empty(values.get_space())
            values = known[key] = values.coalesce()
        else:
            ends = [statements[end.statement] for end in (flow.source, flow.sink)]
            values = renamed(values, *ends)
        if not values.is_empty():
            value_based.append(replace(flow, relation=values))
    return tuple(value_based)


def _through(first: Dependence, second: Dependence) -> isl.Map:
    return first.relation.apply_range(second.relation)


def _is_overwritten(
    flow: Dependence, between: Iterable[tuple[Dependence, Dependence]], position: Mapping[str, int]
) -> bool:
    """Whether the write that comes last before the read, as declared, overwrites all values.

    This decides most flows of a scalar that many statements update in turn, of which each has all
    others in between.
    """
    read = position.get(flow.sink.statement, 0)

    def distance(pair: tuple[Dependence, Dependence]) -> int:
        return (read - 1 - position.get(pair[0].sink.statement, read)) % len(position)

    nearest = min(between, key=distance)
    return flow.relation.is_subset(_through(*nearest))


def value_flows_of(array: str, dependences: Sequence[Dependence]) -> tuple[Dependence, ...]:
    """Return the value-based flows of one array; a search derives them once."""
    of_array = tuple(dependence for dependence in dependences if dependence.array == array)
    return remembered(partial(value_flows, of_array), value_flows, of_array)


def overwritten(
    flow: Dependence,
    dependences: Iterable[Dependence],
    counted: Callable[[Dependence], isl.Map] = lambda output: output.relation,
) -> isl.Map:
    """The pairs of ``flow`` between which another instance writes the element.

    Args:
        dependences: complete records, from which the writes in between are taken.
        counted: the pairs of an output dependence whose later write counts; by default all.
    """
    records = list(dependences)
    between = isl.Map.empty(flow.relation.get_space())
    for first in records:
        if first.kind is not DependenceKind.OUTPUT or first.source != flow.source:
            continue
        for second in records:
            if (
                second.kind is DependenceKind.FLOW
                and second.source == first.sink
                and second.sink == flow.sink
            ):
                between = between.union(counted(first).apply_range(second.relation))
    return between


def root_flows(
    array: str, statements: Mapping[str, Statement], dependences: Iterable[Dependence]
) -> tuple[Dependence, ...]:
    """Relate the root of every value in an array to all reads of the value, updates included.

    Each read instance has exactly one root, also in reductions with ``order="any"``. The array's
    subscripts must be affine.

    Args:
        dependences: complete memory-based records.
    """
    records = _of_values(array, dependences)
    updates = _updates(records)
    roots = {
        name: reduce(isl.Set.subtract, updates.get(name, {}).values(), statement.domain)
        for name, statement in statements.items()
    }
    from_roots = []
    for record in records:
        relation = record.relation.intersect_domain(roots[record.source.statement])
        if record.kind is DependenceKind.OUTPUT:
            relation = relation.intersect_range(roots[record.sink.statement])
        from_roots.append(replace(record, relation=relation, reorderable=False))
    return value_flows(tuple(from_roots))


def contributions(
    array: str, statements: Mapping[str, Statement], dependences: Iterable[Dependence]
) -> tuple[Dependence, ...]:
    """Relate every write that contributed to a value, its root or an update, to the value's reads.

    Args:
        dependences: complete memory-based records.
    """
    records = _of_values(array, dependences)
    roots = root_flows(array, statements, records)
    updates = _updates(records)
    contributing = list(roots)
    for flow in records:
        if flow.kind is not DependenceKind.FLOW:
            continue
        writer = flow.source.statement
        for position, instances in updates.get(writer, {}).items():
            updated = Reference(writer, position)
            # The update and the read belong to one value if they have the same root.
            for before, after in product(roots, roots):
                if (before.sink, after.sink, after.source) == (updated, flow.sink, before.source):
                    to_updates = before.relation.intersect_range(instances)
                    same_value = to_updates.reverse().apply_range(after.relation)
                    pairs = flow.relation.intersect(same_value).coalesce()
                    if not pairs.is_empty():
                        contributing.append(replace(flow, relation=pairs))
    return tuple(contributing)


def _of_values(array: str, dependences: Iterable[Dependence]) -> tuple[Dependence, ...]:
    """The flow and output records of an array, without those that only protect shared memory."""
    return tuple(
        dependence
        for dependence in dependences
        if dependence.array == array
        and dependence.kind is not DependenceKind.ANTI
        and not dependence.storage
    )


def _updates(records: tuple[Dependence, ...]) -> dict[str, dict[int, isl.Set]]:
    """The instances that read the element that they overwrite, by statement and read position.

    An update reads and overwrites the value of one writer, so it is the sink of a flow and an
    output record with the same source. Equal subscripts would not suffice: they also occur where a
    step has made two elements share memory.
    """
    updates: dict[str, dict[int, isl.Set]] = {}
    for flow, output in product(records, records):
        statement, position = flow.sink.statement, flow.sink.position
        if (
            flow.kind is DependenceKind.FLOW
            and output.kind is DependenceKind.OUTPUT
            and output.source == flow.source
            and output.sink.statement == statement
        ):
            instances = flow.relation.intersect(output.relation).range()
            if not instances.is_empty():
                of_statement = updates.setdefault(statement, {})
                earlier = of_statement.get(position)
                of_statement[position] = instances if earlier is None else earlier.union(instances)
    return updates
