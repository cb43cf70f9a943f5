"""Find the smallest witness of a broken dependence."""

from __future__ import annotations

from functools import reduce
from types import MappingProxyType

import islpy as isl

from polysched.dependence.relations import DependenceKind
from polysched.ir.core.tree import Node
from polysched.ir.isl.smallest import SmallPoint, smallest_pair
from polysched.legality.checks.order import Break, broken_dependences, demanded, keeps
from polysched.legality.verdicts.verdict import Cause, Violation, ViolationKind, Witness
from polysched.legality.verdicts.witness import occurrences
from polysched.schedule.core.program import Program

_TOGETHER = MappingProxyType(
    {
        Cause.LANES: ViolationKind.VECTOR,
        Cause.REDUCTION_LANES: ViolationKind.VECTOR,
        Cause.THREADS: ViolationKind.PARALLEL,
        Cause.REDUCTION_THREADS: ViolationKind.PARALLEL,
    }
)
_RANK = {DependenceKind.FLOW: 0, DependenceKind.OUTPUT: 1, DependenceKind.ANTI: 2}


def order_violation(program: Program, tree: Node) -> Violation | None:
    """Find the smallest pair of dependent instances that the executed tree runs in a wrong order.

    Storage dependences are left to the storage check. At equal parameters, a flow dependence is
    preferred to an output dependence, and an output dependence to an anti dependence.
    """
    dependences = demanded(program.dependences)
    if keeps(tree, dependences):
        return None
    candidates = [
        (dependence, places, smallest_pair(_united(places)))
        for dependence, places in broken_dependences(tree, dependences)
    ]
    dependence, places, (source, sink) = min(
        candidates,
        key=lambda entry: (
            [value for _, value in entry[2][0].parameters],
            _RANK[entry[0].kind],
            entry[2][0].values,
            entry[2][1].values,
        ),
    )
    place = next(place for place in places if _holds(place, source, sink))
    return Violation(
        kind=_TOGETHER.get(place.cause, ViolationKind.ORDER),
        cause=place.cause,
        witness=Witness(
            source.parameters,
            *occurrences(program, (dependence.source, dependence.sink), (source, sink)),
        ),
        dependence=dependence.kind,
        array=dependence.array,
        loop=place.loop,
    )


def _united(places: list[Break]) -> isl.Map:
    return reduce(lambda a, b: a.union(b), (place.relation for place in places))


def _holds(place: Break, source: SmallPoint, sink: SmallPoint) -> bool:
    pair = SmallPoint(source.parameters, (*source.values, *sink.values))
    return not pair.restrict(place.relation.wrap().flatten()).is_empty()
