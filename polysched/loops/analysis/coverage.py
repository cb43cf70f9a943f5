"""Check that generated loops run every statement instance exactly once.

isl's AST generation has lost instances (a strided triangle in vectors, by isl's stride detection
across nested bands). Therefore the iterations of each assignment are read back from the loops
around it as a set. Their images, the instances, must not overlap, and their union must be the
statement's domain. This is translation validation (Pnueli, Siegel, Singerman: "Translation
validation", TACAS 1998) of the one step that polysched leaves to a library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType

import islpy as isl

from polysched.ir.core.kernel import Statement
from polysched.loops.analysis.conditions import bound_conditions
from polysched.loops.analysis.contexts import LoopContext, walk_contexts
from polysched.loops.analysis.instances import Instances
from polysched.loops.ir.nodes import Assign, LoopNode


@dataclass(frozen=True)
class Miscovered:
    """A statement whose instances do not run exactly once, and the fault of the loops."""

    statement: str
    fault: str


def miscovered(
    body: LoopNode,
    statements: Mapping[str, Statement],
    context: isl.Set,
    times: Mapping[str, isl.Map] = MappingProxyType({}),
) -> Miscovered | None:
    """The first statement that the loops do not run exactly once for every instance, if any.

    Args:
        times: for each statement the map from its instances to the values of the loops around it.
            Comparing these takes isl much less time than comparing instances.
    """
    runs: dict[str, list[isl.Map]] = {name: [] for name in statements}
    instances_in = Instances(context)
    for node, loop_context in walk_contexts(body, LoopContext()):
        if isinstance(node, Assign):
            instances = instances_in.of(node, loop_context)
            bounds = [
                condition for loop in loop_context.loops for condition in bound_conditions(loop)
            ]
            if bounds:
                # Unrolled copies and vectors obey literal bounds; interpreter and C ignore them.
                within = instances_in.of(node, reduce(LoopContext.where, bounds, loop_context))
                beyond = instances.subtract(within)
                if not beyond.is_empty():
                    fault = f"run {beyond.range().sample_point()} outside of literal bounds"
                    return Miscovered(node.statement, fault)
            runs[node.statement].append(instances)
    for name, statement in statements.items():
        if name in times and _runs_once(statement.domain, runs[name], times[name]):
            continue
        wrong = _wrong(statement.domain, runs[name])
        if wrong is not None:
            return Miscovered(name, wrong)
    return None


def _runs_once(domain: isl.Set, runs: list[isl.Map], times: isl.Map) -> bool:
    """Whether every instance surely runs exactly once, by the values of the scheduled loops.

    A tile number is a floor of indices, which makes unions of instances hard to compare, but it is
    the plain value of a loop.
    """
    if not times.is_injective():
        return False
    ran = isl.Set.empty(times.range().get_space())
    for instances in runs:
        image = instances.range()
        if not (instances.is_injective() and image.is_subset(domain)):
            return False
        moved = image.apply(times).coalesce()
        if not ran.is_disjoint(moved):
            return False
        ran = ran.union(moved).coalesce()
    return bool(ran.is_equal(domain.apply(times)))


def _wrong(domain: isl.Set, runs: list[isl.Map]) -> str | None:
    """Describe an instance that does not run exactly once; None if there is none.

    Args:
        domain: the instances.
        runs: for each assignment the map from the values of loop variables to instances.
    """
    if not runs:
        return None if domain.is_empty() else f"never run {domain.sample_point()}"
    ran, repeated = isl.Set.empty(domain.get_space()), None
    for instances in runs:
        image = instances.range()
        both = ran.intersect(image)
        if not instances.is_injective():
            repeated = image
        if not both.is_empty():
            repeated = both
        ran = ran.union(image).coalesce()
    if not ran.is_equal(domain):
        lost = domain.subtract(ran)
        if not lost.is_empty():
            return f"do not run {lost.sample_point()}"
        return f"run {ran.subtract(domain).sample_point()} as well"
    return None if repeated is None else f"run {repeated.sample_point()} twice"
