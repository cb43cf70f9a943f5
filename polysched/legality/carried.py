"""The part of the dependences that one loop has to answer for."""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from polysched.dependence.relations import Dependence
from polysched.ir.tree import Loop, loops, statements
from polysched.schedule.program import Program, prefix_loops


@dataclass(frozen=True, eq=False)
class CarriedDependence:
    """The pairs of a dependence that run in one iteration of all the loops around a loop."""

    dependence: Dependence
    pairs: isl.Map

    @property
    def source(self) -> str:
        """The statement of the earlier instances."""
        return self.dependence.source.statement

    @property
    def sink(self) -> str:
        """The statement of the later instances."""
        return self.dependence.sink.statement

    def backward(self, loop: Loop) -> isl.Map:
        """The pairs whose sink has a smaller value of ``loop`` than the source."""
        source, sink = loop.values[self.source], loop.values[self.sink]
        return self.pairs.intersect(source.gt_map(sink))

    def apart(self, loop: Loop) -> isl.Map:
        """The pairs whose ends have different values of ``loop``."""
        source, sink = loop.values[self.source], loop.values[self.sink]
        return self.pairs.intersect(source.gt_map(sink).union(source.lt_map(sink)))

    def together(self, loop: Loop) -> CarriedDependence:
        """The pairs that run in one iteration of ``loop``."""
        source, sink = loop.values[self.source], loop.values[self.sink]
        return replace(self, pairs=self.pairs.intersect(source.eq_map(sink)))


def dependences_within(program: Program, loop: Loop) -> list[CarriedDependence]:
    """The dependences between statements below ``loop``, as far as no loop around parts their ends.

    Those without any such pair are left out.
    """
    below = frozenset(statements(loop))
    around = prefix_loops(program, loop)[:-1]
    found = []
    for dependence in program.dependences:
        if {dependence.source.statement, dependence.sink.statement} <= below:
            within = CarriedDependence(dependence, dependence.relation)
            for outer in around:
                within = within.together(outer)
            if not within.pairs.is_empty():
                found.append(within)
    return found


def loop_reference(program: Program, loop: Loop) -> str:
    """The shortest text that names a loop in a step: ``"loop"``, else ``"statement.loop"``."""
    count = sum(other.name == loop.name for other in loops(program.tree))
    return loop.name if count == 1 else f"{statements(loop)[0]}.{loop.name}"
