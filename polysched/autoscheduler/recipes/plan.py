"""A plan for a perfect nest: vector loop, loop order, and the loops that are unrolled and jammed.

A plan is compared by arithmetic on facts (:meth:`Plan.facts`) and turned into steps afterwards
(:meth:`Plan.steps`).
"""

from __future__ import annotations

from dataclasses import dataclass

from polysched.autoscheduler.candidate import Situation
from polysched.autoscheduler.cost import FARTHEST_INTERLEAVED
from polysched.autoscheduler.facts import StatementFacts, statement_facts
from polysched.autoscheduler.nests import fresh_names
from polysched.ir.core.tree import LoopKind
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.transpose import Transpose
from polysched.schedule.primitives.unroll import Unroll
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.table import Step


@dataclass(frozen=True)
class Plan:
    """How to run a perfect nest around one statement.

    Attributes:
        order: the loops, outermost first.
        vector: the loop whose iterations become lanes.
        lanes: lanes of one vector.
        vectors: vectors side by side.
        starts: the least values of loops that are not 0; tiles then begin with the first iteration.
        jammed: the loops of which some iterations are written out inside all others, with their
            number, in the order of ``order``.
    """

    order: tuple[str, ...]
    vector: str
    lanes: int
    vectors: int = 1
    jammed: tuple[tuple[str, int], ...] = ()
    starts: tuple[tuple[str, int], ...] = ()

    def facts(self, before: StatementFacts) -> StatementFacts:
        """The facts of the statement in this plan; names of new loops are made up."""
        outer = [loop.name for loop in before.loops if loop.name not in self.order]
        after, order, inside = before, [*self.order], list[str]()
        for loop, factor in self.jammed:
            after = after.split(loop, factor, f"{loop}<", f"{loop}>")
            order[order.index(loop)] = f"{loop}<"
            inside.append(f"{loop}>")
        after = after.split(self.vector, self.lanes * self.vectors, f"{self.vector}<", "vectors>")
        after = after.split("vectors>", self.lanes, "vectors", "lanes")
        order[order.index(self.vector)] = f"{self.vector}<"
        after = after.ordered([*outer, *order, *inside, "vectors", "lanes"])
        for name in (*inside, "vectors"):
            after = after.marked(name, LoopKind.UNROLLED)
        return after.marked("lanes", LoopKind.VECTOR, self.lanes)

    def steps(self, situation: Situation) -> tuple[Step, ...]:
        """The steps that make the plan of the situation's nest."""
        nest, program = situation.nest, situation.schedule.program
        statement = nest.statements[0]
        tiled = {self.vector, *(loop for loop, _ in self.jammed)}
        steps: list[Step] = [
            Shift(f"{statement}.{loop}", -start) for loop, start in self.starts if loop in tiled
        ]
        split = [*self.jammed]
        if self.vectors > 1:
            split.append((self.vector, self.lanes * self.vectors))
        wanted = [name for loop, _ in split for name in (f"{loop}o", f"{loop}i")]
        names = fresh_names(program, nest.chain[0], *wanted)
        order, inside = [*self.order], list[str]()
        vector = self.vector
        for at, (loop, factor) in enumerate(split):
            outer, inner = names[2 * at], names[2 * at + 1]
            steps.append(Split(f"{statement}.{loop}", factor, (outer, inner)))
            order[order.index(loop)] = outer
            inside.append(inner)
            if loop == self.vector:
                vector = inner
        order = [*order, *inside]
        # Splitting puts the inner loop directly inside the outer one.
        now = [
            name
            for loop in nest.chain
            for name in next(
                (
                    (names[2 * at], names[2 * at + 1])
                    for at, s in enumerate(split)
                    if s[0] == loop.name
                ),
                (loop.name,),
            )
        ]
        if order != now:
            steps.append(Reorder(tuple(f"{statement}.{name}" for name in order)))
        into = fresh_names(program, nest.chain[0], f"{vector}v")[0]
        default = into == f"{vector}v"
        steps.append(Vectorize(f"{statement}.{vector}", self.lanes, None if default else into))
        steps += (Unroll(f"{statement}.{name}") for name in inside)
        if self._is_transposed(statement_facts(program, statement, situation.sizes)):
            steps.append(Transpose(f"{statement}.{into}", f"{statement}.{inside[0]}"))
        return tuple(steps)

    def _is_transposed(self, facts: StatementFacts) -> bool:
        """Whether the copies of the only unrolled loop make tiles of rows, as the cost assumes."""
        if self.vectors > 1 or len(self.jammed) != 1:
            return False
        ((row, copies),) = self.jammed
        return any(
            facts.is_transposable(access, row, copies, self.lanes)
            and abs(access.stride(self.vector) or 0) > FARTHEST_INTERLEAVED * access.bytes
            for access in facts.accesses
        )
