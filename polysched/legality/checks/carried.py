"""Dependences that a loop must keep, because no outer loop carries them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from polysched.dependence.relations import Dependence
from polysched.ir.core.tree import Loop, loops, statements
from polysched.schedule.core.program import Program, prefix_loops


@dataclass(frozen=True, eq=False)
class CarriedDependence:
    """The pairs of a dependence that no loop around a given loop carries.

    Both ends of a pair run in the same iteration of all outer loops. So the given loop, or its
    body, must keep their order.
    """

    dependence: Dependence
    pairs: isl.Map

    @property
    def source(self) -> str:
        """The statement of the source instances."""
        return self.dependence.source.statement

    @property
    def sink(self) -> str:
        """The statement of the sink instances."""
        return self.dependence.sink.statement

    def backward(self, loop: Loop) -> isl.Map:
        """Return the pairs with a negative distance in ``loop``."""
        source, sink = loop.values[self.source], loop.values[self.sink]
        return self.pairs.intersect(source.gt_map(sink))

    def apart(self, loop: Loop) -> isl.Map:
        """Return the pairs with a nonzero distance in ``loop``."""
        source, sink = loop.values[self.source], loop.values[self.sink]
        return self.pairs.intersect(source.gt_map(sink).union(source.lt_map(sink)))

    def together(self, loop: Loop) -> CarriedDependence:
        """Keep the pairs with distance zero in ``loop``."""
        source, sink = loop.values[self.source], loop.values[self.sink]
        return replace(self, pairs=self.pairs.intersect(source.eq_map(sink)))


def dependences_within(program: Program, loop: Loop) -> list[CarriedDependence]:
    """Return the dependences between statements below ``loop`` that no outer loop carries."""
    below = frozenset(statements(loop))
    around = prefix_loops(program, loop)[:-1]
    not_carried = []
    for dependence in program.dependences:
        if {dependence.source.statement, dependence.sink.statement} <= below:
            carried = CarriedDependence(dependence, dependence.relation)
            for outer in around:
                carried = carried.together(outer)
            if not carried.pairs.is_empty():
                not_carried.append(carried)
    return not_carried


def loop_reference(program: Program, loop: Loop) -> str:
    """Return the shortest name of a loop in a step: ``"loop"``, else ``"statement.loop"``."""
    count = sum(other.name == loop.name for other in loops(program.tree))
    return loop.name if count == 1 else f"{statements(loop)[0]}.{loop.name}"
