"""Direct dependences: the transitive reduction of the memory-based dependences.

A memory-based dependence relates all ordered pairs of accesses to an element, so the first of ten
sweeps over an array would have an arrow to each of the others. A picture shows only the nearest
pairs: from the last write before a read (flow), from the last write before a write (output), and
from a read to the first write after it (anti). All other pairs follow from these by transitivity.
A *may* dependence, whose subscripts depend on data, does not hide a certain dependence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import islpy as isl

from polysched.dependence.relations import Dependence, DependenceKind, Reference, timestamps
from polysched.ir.core.kernel import Statement
from polysched.ir.core.tree import Node
from polysched.ir.semantics.points import Points, columns_at, with_parameters
from polysched.plot.instances import enumerated


@dataclass(frozen=True, eq=False)
class Pairs:
    """The n direct pairs of one dependence.

    Attributes:
        sources, sinks: the index values of both instances of each pair, shape (n, indices).
    """

    dependence: Dependence
    sources: Points
    sinks: Points


def direct_pairs(
    dependences: Iterable[Dependence],
    body: Node,
    statements: Mapping[str, Statement],
    domains: Mapping[str, isl.Set],
    parameters: Mapping[str, int],
) -> tuple[Pairs, ...]:
    """Enumerate the direct pairs of memory-based dependences, at the given sizes.

    Args:
        dependences: the dependences of the declared program.
        body, statements: the declared program, whose order defines which pair is nearest.
        domains: the instances that are shown, by statement.
    """
    times = timestamps(body, statements)
    groups: dict[tuple[object, ...], list[Dependence]] = {}
    for dependence in dependences:
        groups.setdefault(_group(dependence), []).append(dependence)
    return tuple(
        pairs for group in groups.values() for pairs in _nearest(group, times, domains, parameters)
    )


def _group(dependence: Dependence) -> tuple[object, ...]:
    """The key of dependences that compete: an instance has one nearest partner in the group."""
    return (dependence.kind, dependence.array, _fixed_end(dependence), dependence.may)


def _fixed_end(dependence: Dependence) -> Reference:
    return dependence.source if dependence.kind is DependenceKind.ANTI else dependence.sink


def _nearest(
    group: list[Dependence],
    times: Mapping[str, isl.Map],
    domains: Mapping[str, isl.Set],
    parameters: Mapping[str, int],
) -> Iterable[Pairs]:
    """For every instance at the fixed end, the nearest instance at the other end.

    The fixed end is the read of an anti dependence, else the sink.
    """
    if _fixed_end(group[0]).statement not in domains:
        return
    anti = group[0].kind is DependenceKind.ANTI
    fixed = [with_parameters(_from_fixed(dependence), parameters) for dependence in group]
    far_ends = [dependence.sink if anti else dependence.source for dependence in group]
    clocks = [with_parameters(times[reference.statement], parameters) for reference in far_ends]
    reached = fixed[0].apply_range(clocks[0])
    for relation, clock in zip(fixed[1:], clocks[1:], strict=True):
        reached = reached.union(relation.apply_range(clock))
    best = reached.lexmin() if anti else reached.lexmax()
    for dependence, relation, clock, far in zip(group, fixed, clocks, far_ends, strict=True):
        near = _fixed_end(dependence)
        if far.statement not in domains:
            continue
        pairs = best.apply_range(clock.reverse()).intersect(relation)
        pairs = pairs.intersect_domain(domains[near.statement])
        pairs = with_parameters(pairs.intersect_range(domains[far.statement]), parameters)
        if pairs.is_empty():
            continue
        known, other = _enumerated(pairs, dependence, parameters)
        yield Pairs(dependence, known, other) if anti else Pairs(dependence, other, known)


def _from_fixed(dependence: Dependence) -> isl.Map:
    anti = dependence.kind is DependenceKind.ANTI
    return dependence.relation if anti else dependence.relation.reverse()


def _enumerated(
    pairs: isl.Map, dependence: Dependence, parameters: Mapping[str, int]
) -> tuple[Points, Points]:
    """Enumerate the pairs of a relation that is a function of the fixed end."""
    count = pairs.dim(isl.dim_type.in_)
    for position in range(count):
        pairs = pairs.set_dim_name(isl.dim_type.in_, position, f"x{position}")
    function = isl.PwMultiAff.from_map(pairs.coalesce())
    rows = enumerated(pairs.domain(), _fixed_end(dependence).statement, parameters)
    functions = [function.get_at(position) for position in range(pairs.dim(isl.dim_type.out))]
    return rows, columns_at(functions, rows, parameters)
