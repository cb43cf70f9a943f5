"""Direct dependences: those from which all others follow.

A memory-based dependence relates all ordered pairs on one element; of ten sweeps over an array the
first would have an arrow to each of the others. A picture shows the nearest: a read depends on the
last write before it (flow), a write on the last write before it (output), and on a read depends the
first write after it (anti). The other pairs follow from these, one after the other. What only *may*
depend, because a subscript depends on data, does not hide what does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import islpy as isl
import numpy as np

from polysched.dependence.relations import Dependence, DependenceKind, Reference, timestamps
from polysched.ir.kernel import Statement
from polysched.ir.points import Points, values
from polysched.ir.tree import Node
from polysched.plot.instances import enumerated


@dataclass(frozen=True, eq=False)
class Pairs:
    """Instances that depend on each other directly, n pairs of one dependence.

    Attributes:
        sources, sinks: the values of their statements' indices, shape (n, indices).
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
    """The direct pairs of memory-based dependences, at the given sizes.

    Args:
        body, statements: the program as declared, whose order says what is nearest.
        domains: the instances between which pairs are wanted, by statement.

    Raises:
        TooManyInstancesError: there are too many.
    """
    times = timestamps(body, statements)
    groups: dict[tuple[object, ...], list[Dependence]] = {}
    for dependence in dependences:
        groups.setdefault(_group(dependence), []).append(dependence)
    return tuple(
        pairs for group in groups.values() for pairs in _nearest(group, times, domains, parameters)
    )


def _group(dependence: Dependence) -> tuple[object, ...]:
    """What is alike for dependences of which an instance has only one nearest."""
    return (dependence.kind, dependence.array, _fixed_end(dependence), dependence.may)


def _fixed_end(dependence: Dependence) -> Reference:
    return dependence.source if dependence.kind is DependenceKind.ANTI else dependence.sink


def _nearest(
    group: list[Dependence],
    times: Mapping[str, isl.Map],
    domains: Mapping[str, isl.Set],
    parameters: Mapping[str, int],
) -> Iterable[Pairs]:
    """For every instance at the fixed end the nearest at the other end."""
    if _fixed_end(group[0]).statement not in domains:
        return
    anti = group[0].kind is DependenceKind.ANTI
    fixed = [_at(_from_fixed(one), parameters) for one in group]
    clocks = [_at(times[(one.sink if anti else one.source).statement], parameters) for one in group]
    reached = fixed[0].apply_range(clocks[0])
    for relation, clock in zip(fixed[1:], clocks[1:], strict=True):
        reached = reached.union(relation.apply_range(clock))
    best = reached.lexmin() if anti else reached.lexmax()
    for one, relation, clock in zip(group, fixed, clocks, strict=True):
        near, far = (one.source, one.sink) if anti else (one.sink, one.source)
        if far.statement not in domains:
            continue
        pairs = best.apply_range(clock.reverse()).intersect(relation)
        pairs = pairs.intersect_domain(domains[near.statement])
        pairs = _at(pairs.intersect_range(domains[far.statement]), parameters)
        if pairs.is_empty():
            continue
        known, other = _enumerated(pairs, one, parameters)
        yield Pairs(one, known, other) if anti else Pairs(one, other, known)


def _from_fixed(dependence: Dependence) -> isl.Map:
    anti = dependence.kind is DependenceKind.ANTI
    return dependence.relation if anti else dependence.relation.reverse()


def _at(relation: isl.Map, parameters: Mapping[str, int]) -> isl.Map:
    for name, value in parameters.items():
        position = relation.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            relation = relation.fix_val(isl.dim_type.param, position, isl.Val(value))
    return relation


def _enumerated(
    pairs: isl.Map, dependence: Dependence, parameters: Mapping[str, int]
) -> tuple[Points, Points]:
    """All pairs of a relation that gives each instance one other."""
    count = pairs.dim(isl.dim_type.in_)
    for position in range(count):
        pairs = pairs.set_dim_name(isl.dim_type.in_, position, f"x{position}")
    function = isl.PwMultiAff.from_map(pairs.coalesce())
    rows = enumerated(pairs.domain(), _fixed_end(dependence).statement, parameters)
    columns = [
        values(function.get_at(position), rows, parameters)
        for position in range(pairs.dim(isl.dim_type.out))
    ]
    shape = (len(rows), 0)
    return rows, np.stack(columns, axis=1) if columns else np.empty(shape, np.int64)
