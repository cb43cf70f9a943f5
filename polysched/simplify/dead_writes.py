"""Remove instances whose values nobody reads, by exact value-based flow.

An instance is live if a read sees its value, or if it is the last write of an element of a result
(dead code elimination on instances, as in Feautrier, "Dataflow analysis of array and scalar
references", 1991).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

import islpy as isl

from polysched.dependence.relations import Dependence, DependenceKind
from polysched.ir.core.kernel import Kernel, Role, Statement
from polysched.ir.core.tree import restrict


def without_dead_writes(
    kernel: Kernel, dependences: Iterable[Dependence], flows: Iterable[Dependence]
) -> Kernel:
    """Return the kernel without dead instances, and without temporaries that nobody uses.

    The same kernel object is returned if every instance is live.

    Args:
        dependences: the kernel's memory-based dependences.
        flows: its value-based flow dependences.
    """
    domains = {
        name: _live(kernel, statement, dependences, flows)
        for name, statement in kernel.statements.items()
    }
    if all(domain is kernel.statements[name].domain for name, domain in domains.items()):
        return kernel
    statements = {
        name: statement
        if domains[name] is statement.domain
        else replace(statement, domain=domains[name])
        for name, statement in kernel.statements.items()
        if not domains[name].is_empty()
    }
    body = restrict(kernel.body, frozenset(statements))
    if body is None:
        return kernel
    return without_unused_arrays(
        replace(kernel, statements=MappingProxyType(statements), body=body)
    )


def without_unused_arrays(kernel: Kernel) -> Kernel:
    """Return the kernel without the temporaries that no statement accesses."""
    used = {
        access.array for statement in kernel.statements.values() for access in statement.accesses
    }
    arrays = {
        name: array
        for name, array in kernel.arrays.items()
        if name in used or array.role is not Role.TEMPORARY
    }
    return replace(kernel, arrays=MappingProxyType(arrays))


def _live(
    kernel: Kernel,
    statement: Statement,
    dependences: Iterable[Dependence],
    flows: Iterable[Dependence],
) -> isl.Set:
    """The instances of a statement whose values are used; its own domain if all are."""
    domain = statement.domain
    dead = domain
    for flow in flows:
        if flow.source.statement == statement.name:
            dead = dead.subtract(flow.relation.domain())
    if kernel.arrays[statement.target.array].role is not Role.TEMPORARY:
        dead = dead.intersect(_overwritten(statement, dependences))
    if domain.is_subset(dead):
        return dead.subtract(dead)
    dead = _of_full_dimension(dead, domain)
    return domain if dead.is_empty() else domain.subtract(dead).coalesce()


def _of_full_dimension(dead: isl.Set, domain: isl.Set) -> isl.Set:
    """The dead instances without single rows and points, whose absence costs more than it saves."""
    dimension = _dimension(domain)
    kept = isl.Set.empty(domain.get_space())
    for basic in dead.coalesce().get_basic_sets():
        part = isl.Set.from_basic_set(basic)
        if _dimension(part) == dimension:
            kept = kept.union(part)
    return kept


def _dimension(instances: isl.Set) -> int:
    """The dimension of the affine hull of a set."""
    hull = instances.affine_hull()
    equalities = sum(constraint.is_equality() for constraint in hull.get_constraints())
    return int(hull.dim(isl.dim_type.set)) - equalities


def _overwritten(statement: Statement, dependences: Iterable[Dependence]) -> isl.Set:
    """The instances whose element a later instance certainly overwrites."""
    overwritten = isl.Set.empty(statement.domain.get_space())
    for dependence in dependences:
        if (
            dependence.kind is DependenceKind.OUTPUT
            and dependence.source.statement == statement.name
            and not (dependence.may or dependence.reorderable)
        ):
            overwritten = overwritten.union(dependence.relation.domain())
    return overwritten
