"""Value-based flow: which instance wrote the value that a read sees, and how long it is kept.

Memory-based flow relates a read to every earlier write of its element. Of these only the last one
made the value: a pair falls away if some other instance writes the element in between, which the
complete memory-based records tell (Feautrier, "Dataflow analysis of array and scalar references",
1991, by composition instead of parametric maxima)::

    value(p -> c) = flow(p -> c) - union over p2 of output(p -> p2) . flow(p2 -> c)

An instance that reads the element which it overwrites *carries* its value *on*: an update, a step
of a reduction. A value so begins at its *root*, a write that does not do so (what it reads of its
own element, if anything, is what the caller left there), and lives until the last read before
another root writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import product

import islpy as isl

from polysched.dependence.relations import Dependence, DependenceKind, Reference
from polysched.ir.kernel import Statement


def value_flows(dependences: Sequence[Dependence]) -> tuple[Dependence, ...]:
    """The flow dependences, each without the pairs between which the element is overwritten.

    Exact: without reductions that are free in their order every read instance is in the range of at
    most one writing instance, the one that wrote what it sees in the program as declared.

    The instances of one reduction with the policy ``any`` have no order among them, so none of them
    overwrites another: each may see what came before all of them or what any other one left, and
    after them any may have been the last. Their pairs stay; a write by another statement in between
    still ends them.

    A write whose subscripts depend on data may go elsewhere, so it overwrites nothing surely: with
    such writes the pairs are all those that *may* be the last.

    Args:
        dependences: *complete* memory-based records, of a kernel or of a scheduled program.
    """
    ordered = [one for one in dependences if not one.reorderable and not _may_overwrite(one)]
    found = []
    for flow in dependences:
        if flow.kind is DependenceKind.FLOW:
            ended = overwritten(flow, ordered)
            values = flow.relation.subtract(ended).coalesce()
            if not values.is_empty():
                found.append(replace(flow, relation=values))
    return tuple(found)


def _may_overwrite(dependence: Dependence) -> bool:
    """Whether it is an overwriting that nobody can rely on, for a subscript depends on data."""
    return dependence.may and dependence.kind is DependenceKind.OUTPUT


def overwritten(
    flow: Dependence,
    dependences: Iterable[Dependence],
    counted: Callable[[Dependence], isl.Map] = lambda output: output.relation,
) -> isl.Map:
    """The pairs of instances of ``flow`` between which some instance writes the element too.

    Args:
        dependences: complete records; the writes in between are those that these know of.
        counted: the pairs of an output dependence whose later write counts; by default all.
    """
    known = list(dependences)
    between = isl.Map.empty(flow.relation.get_space())
    for first in known:
        if first.kind is not DependenceKind.OUTPUT or first.source != flow.source:
            continue
        for second in known:
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
    """From the root of every value in an array to all its reads, those that carry it on included.

    Each read instance has one root, reductions that are free in their order included. The array's
    subscripts must be affine.

    Args:
        dependences: complete memory-based records.
    """
    known = _of_values(array, dependences)
    carrying = _carrying(known)
    roots = {
        name: reduce(isl.Set.subtract, carrying.get(name, {}).values(), statement.domain)
        for name, statement in statements.items()
    }
    records = []
    for one in known:
        relation = one.relation.intersect_domain(roots[one.source.statement])
        if one.kind is DependenceKind.OUTPUT:
            relation = relation.intersect_range(roots[one.sink.statement])
        records.append(replace(one, relation=relation, reorderable=False))
    return value_flows(tuple(records))


def contributions(
    array: str, statements: Mapping[str, Statement], dependences: Iterable[Dependence]
) -> tuple[Dependence, ...]:
    """From every write that had a part in a value, its root or one that carried it on, to the
    reads of it.

    Args:
        dependences: complete memory-based records.
    """
    known = _of_values(array, dependences)
    roots = root_flows(array, statements, known)
    carrying = _carrying(known)
    found = list(roots)
    for flow in known:
        if flow.kind is not DependenceKind.FLOW:
            continue
        writer = flow.source.statement
        for position, instances in carrying.get(writer, {}).items():
            carried = Reference(writer, position)
            for before, after in product(roots, roots):
                if (before.sink, after.sink, after.source) == (carried, flow.sink, before.source):
                    carriers = before.relation.intersect_range(instances)
                    one_value = carriers.reverse().apply_range(after.relation)
                    pairs = flow.relation.intersect(one_value).coalesce()
                    if not pairs.is_empty():
                        found.append(replace(flow, relation=pairs))
    return tuple(found)


def _of_values(array: str, dependences: Iterable[Dependence]) -> tuple[Dependence, ...]:
    """The flow and output records of an array that are about one element, not about its memory."""
    return tuple(
        one
        for one in dependences
        if one.array == array and one.kind is not DependenceKind.ANTI and not one.storage
    )


def _carrying(known: tuple[Dependence, ...]) -> dict[str, dict[int, isl.Set]]:
    """For each statement, by position of the read, the instances that read what they overwrite.

    They are told by the records, not by the subscripts, which are equal too where a step has let
    two elements share memory: who overwrites what it reads does both to a value of one writer.
    """
    found: dict[str, dict[int, isl.Set]] = {}
    for flow, output in product(known, known):
        statement, position = flow.sink.statement, flow.sink.position
        if (
            flow.kind is DependenceKind.FLOW
            and output.kind is DependenceKind.OUTPUT
            and output.source == flow.source
            and output.sink.statement == statement
        ):
            instances = flow.relation.intersect(output.relation).range()
            if not instances.is_empty():
                of_statement = found.setdefault(statement, {})
                earlier = of_statement.get(position)
                of_statement[position] = instances if earlier is None else earlier.union(instances)
    return found
