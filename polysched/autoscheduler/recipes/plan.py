"""A plan for a perfect nest: vector loop, loop order, and the loops that are unrolled and jammed.

A plan is compared by arithmetic on facts (:meth:`Plan.facts`) and turned into steps afterwards
(:meth:`Plan.steps`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.statement import AccessFacts, LoopFacts, StatementFacts
from polysched.autoscheduler.facts.term_groups import TermGroup
from polysched.autoscheduler.forms.candidate import Situation
from polysched.autoscheduler.forms.nests import fresh_names
from polysched.ir.core.tree import LoopKind
from polysched.machine.description import Machine
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.tensorize import Tensorize
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
        vectors: vectors side by side.
        starts: the least values of loops that are not 0; tiles then begin with the first iteration.
        jammed: the loops of which some iterations are written out inside all others, with their
            number, in the order of ``order``.
        group: terms that one instruction adds to each lane. The loop over them, which is not in
            ``order``, stands inside the lanes.
    """

    order: tuple[str, ...]
    vector: str
    lanes: int
    vectors: int = 1
    jammed: tuple[tuple[str, int], ...] = ()
    starts: tuple[tuple[str, int], ...] = ()
    group: TermGroup | None = None

    def facts(self, before: StatementFacts) -> StatementFacts:
        """The facts of the statement in this plan; names of new loops are made up."""
        jammed = dict(self.jammed)
        by_name = {loop.name: loop for loop in before.loops}
        along = by_name[self.vector]
        block = self.lanes * self.vectors
        block_trip = min(float(block), along.trip)
        loops = [loop for loop in before.loops if loop.name not in self.order]
        for name in self.order:
            if name == self.vector or name in jammed:
                factor = jammed.get(name, block)
                loops.append(_outside(by_name[name], factor, f"{name}<"))
            else:
                loops.append(by_name[name])
        loops += (
            replace(
                _inside(by_name[name], min(float(factor), by_name[name].trip), f"{name}>"),
                partial=by_name[name].partial_share(factor),
            )
            for name, factor in self.jammed
        )
        vectors = max(1.0, math.ceil(block_trip / self.lanes - 1e-9))
        lanes = _inside(along, min(float(self.lanes), block_trip), "lanes")
        loops += (
            replace(
                _inside(along, vectors, "vectors"),
                start=None,
                partial=along.partial_share(block) if self.vectors > 1 else 0.0,
            ),
            replace(
                lanes,
                kind=LoopKind.VECTOR,
                lanes=self.lanes,
                masked=along.masked_share(block),
                is_transposed=self._is_transposed(before),
            ),
        )
        parts: dict[str, tuple[tuple[str, int], ...]] = {
            name: ((f"{name}<", factor), (f"{name}>", 1)) for name, factor in self.jammed
        }
        parts[self.vector] = ((f"{self.vector}<", block), ("vectors", self.lanes), ("lanes", 1))
        accesses = tuple(_in_parts(access, parts) for access in before.accesses)
        return replace(before, loops=tuple(loops), accesses=accesses)

    def steps(self, situation: Situation) -> tuple[Step, ...]:
        """The steps that make the plan of the situation's nest."""
        nest, program = situation.nest, situation.schedule.program
        statement = nest.statements[0]
        tiled = {self.vector, *(loop for loop, _ in self.jammed)}
        facts = statement_facts(program, statement, situation.sizes)
        if self._keeps_rows_aligned(facts, situation.machine):
            tiled.remove(self.vector)
        steps: list[Step] = [
            Shift(f"{statement}.{loop}", -start) for loop, start in self.starts if loop in tiled
        ]
        split = [*self.jammed]
        if self.vectors > 1 or self.group:
            split.append((self.vector, self.lanes * self.vectors))
        split_names = [name for loop, _ in split for name in (f"{loop}o", f"{loop}i")]
        names = fresh_names(program, nest.chain[0], *split_names)
        order, inside = [*self.order], list[str]()
        vector = self.vector
        for at, (loop, factor) in enumerate(split):
            outer, inner = names[2 * at], names[2 * at + 1]
            steps.append(Split(f"{statement}.{loop}", factor, (outer, inner)))
            order[order.index(loop)] = outer
            inside.append(inner)
            if loop == self.vector:
                vector = inner
        grouped = [self.group.loop] if self.group else []
        order = [*order, *inside, *grouped]
        # Splitting puts the inner loop directly inside the outer loop.
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
        steps += (Unroll(f"{statement}.{name}") for name in [*inside, *grouped])
        if self.group:
            steps.append(Tensorize(f"{statement}.{into}", self.group.form.name))
        elif self._is_transposed(facts):
            steps.append(Transpose(f"{statement}.{into}", f"{statement}.{inside[0]}"))
        return tuple(steps)

    def _keeps_rows_aligned(self, facts: StatementFacts, machine: Machine) -> bool:
        """Whether vectors begin where the rows of the target do, though the loop starts later.

        The first vector of each row then has a mask. If rows are whole vectors, as those of large
        arrays often are, stores do not go to two cache lines.
        """
        target, loop = facts.target, facts.loop(self.vector)
        return (
            self.vectors == 1
            and self.group is None
            and target.stride(self.vector) == target.bytes
            and target.offset % (self.lanes * target.bytes) == 0
            and loop.trip >= machine.costs.aligned_vectors * self.lanes
        )

    def _is_transposed(self, facts: StatementFacts) -> bool:
        """Whether the copies of the only unrolled loop make tiles of rows, as the cost assumes."""
        if self.vectors > 1 or len(self.jammed) != 1:
            return False
        ((row, copies),) = self.jammed
        return any(
            facts.is_transposable(access, row, copies, self.lanes)
            and abs(access.stride(self.vector) or 0) > access.farthest
            for access in facts.accesses
        )


def _outside(loop: LoopFacts, factor: int, name: str) -> LoopFacts:
    """The loop over the parts of a loop that is split."""
    trip = max(1.0, math.ceil(loop.trip / factor - 1e-9))
    return LoopFacts(name, trip, start=None, bounded_by=loop.bounded_by)


def _inside(loop: LoopFacts, trip: float, name: str) -> LoopFacts:
    """The unrolled loop inside a part of a loop that is split."""
    return LoopFacts(name, trip, LoopKind.UNROLLED, start=0, bounded_by=loop.bounded_by)


def _in_parts(access: AccessFacts, parts: Mapping[str, tuple[tuple[str, int], ...]]) -> AccessFacts:
    """An access after loops are split: the loops and the factor of the stride for each of them."""
    strides: dict[str, int | None] = {}
    for loop, stride in access.strides.items():
        if loop not in parts:
            strides[loop] = stride
        elif stride != 0:
            for part, factor in parts[loop]:
                strides[part] = None if stride is None else stride * factor
        else:
            strides[loop] = stride
    return replace(access, strides=strides)
