"""The work of a loop that threads may share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from polysched.autoscheduler.cost.statement import Cost
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.statement import LoopFacts, StatementFacts
from polysched.autoscheduler.forms.candidate import Candidate, Decision
from polysched.autoscheduler.forms.legal import applied, keeps_buffers, keeps_order
from polysched.autoscheduler.forms.nests import outer_nests
from polysched.autoscheduler.threads.costs import scaled
from polysched.ir.core.tree import Loop, path
from polysched.machine.description import Machine
from polysched.schedule.core.program import Program
from polysched.schedule.table import Step


@dataclass(frozen=True, eq=False)
class Work:
    """A loop of a candidate, with its predicted cost.

    Attributes:
        around: the loops around it.
        facts: the facts of the statement with most cycles.
        costs: the costs of the statements below it.
        entries: the times that the loop runs.
    """

    loop: Loop
    around: tuple[Loop, ...]
    facts: StatementFacts
    costs: tuple[Cost, ...]
    entries: float

    @property
    def depth(self) -> int:
        """The number of loops around it."""
        return len(self.around)

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements below it."""
        return self.loop.statements

    @property
    def cycles(self) -> float:
        """The predicted cycles of all its runs."""
        return sum(cost.cycles for cost in self.costs)

    @property
    def trip(self) -> float:
        """The average trip count."""
        return self.loop_facts(self.loop).trip

    @property
    def reference(self) -> str:
        """The unambiguous name of the loop."""
        return self.reference_to(self.loop)

    def written(self, program: Program) -> frozenset[str]:
        """Return the arrays that statements of its nest write."""
        nest = self.around[0] if self.around else self.loop
        return frozenset(program.statements[name].target.array for name in nest.statements)

    def is_worth_regions(self, machine: Machine) -> bool:
        """Whether each run of the loop is long enough for a parallel region of its own."""
        return self.cycles / self.entries >= machine.costs.shared_loop

    def loop_facts(self, loop: Loop) -> LoopFacts:
        """Return the facts of a loop around the statement with most cycles."""
        return self.facts.loop(loop.name)

    def reference_to(self, loop: Loop) -> str:
        """Return the unambiguous name of a loop around or below."""
        return f"{loop.statements[0]}.{loop.name}"

    def chain(self) -> tuple[Loop, ...]:
        """Return the loop and those inside it, each directly in the one before."""
        return next(outer_nests(self.loop)).chain


@dataclass(frozen=True, eq=False)
class SharedForm:
    """Another form of a nest, whose work threads share.

    Attributes:
        cycles: the predicted cycles of the nest.
        made: makes the candidate; None if the form is not legal.
    """

    cycles: float
    made: Callable[[], Candidate | None]


def with_parallel(
    candidate: Candidate, work: Work, steps: Sequence[Step], reason: str, cycles: float
) -> Candidate | None:
    """Return the candidate after steps that share the work; None if the order is not legal."""
    schedule = applied(candidate.schedule, steps)
    if (
        schedule is None
        or not keeps_order(schedule.program, work.statements)
        or not keeps_buffers(schedule.program)
    ):
        return None
    return candidate.with_decision(
        schedule,
        Decision(tuple(steps), work.statements, reason),
        scaled(candidate.costs, work.statements, cycles),
    )


def work_at(candidate: Candidate, statement: str, depth: int, sizes: Mapping[str, int]) -> Work:
    """Return the loop at a depth around a statement, which a step may have rebuilt."""
    program = candidate.schedule.program
    *around, loop = path(program.tree, statement)[: depth + 1]
    costs = candidate.costs
    longest = max(loop.statements, key=lambda name: costs[name].cycles)
    facts = statement_facts(program, longest, sizes)
    entries = math.prod(max(1.0, loop.trip) for loop in facts.loops[:depth])
    below = tuple(costs[name] for name in loop.statements)
    return Work(loop, tuple(around), facts, below, entries)
