"""Proposals of recipes, and candidates for the final schedule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from polysched.autoscheduler.cost import Cost
from polysched.autoscheduler.nests import Nest
from polysched.machine.description import Machine
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step


@dataclass(frozen=True)
class Decision:
    """Steps that belong together, and the reason for them.

    Attributes:
        steps: the steps, in order.
        statements: the statements that they are for.
        reason: one sentence with the numbers that decided.
    """

    steps: tuple[Step, ...]
    statements: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Situation:
    """What a recipe works on: a nest of a schedule, and the machine to schedule it for.

    Attributes:
        sizes: a value for each parameter, for which costs are predicted.
    """

    schedule: Schedule
    nest: Nest
    machine: Machine
    sizes: Mapping[str, int]
    threads: int = 1


@dataclass(frozen=True)
class Proposal:
    """Steps that a recipe proposes for one nest."""

    steps: tuple[Step, ...]
    reason: str


Recipe: TypeAlias = Callable[[Situation], Iterable[Proposal]]
"""A recipe: proposals for a nest, the most promising first."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A schedule with the decisions that made it and the costs predicted for it.

    Attributes:
        schedule: the schedule, not yet proved.
        decisions: the decisions, in the order of their steps, after the steps of the start.
        costs: the predicted cost of each statement.
    """

    schedule: Schedule
    decisions: tuple[Decision, ...]
    costs: Mapping[str, Cost]

    @property
    def cycles(self) -> float:
        """The predicted cycles of the program."""
        return sum(cost.cycles for cost in self.costs.values())

    def with_decision(
        self, schedule: Schedule, decision: Decision, costs: Mapping[str, Cost]
    ) -> Candidate:
        """The candidate after one more decision."""
        return replace(self, schedule=schedule, decisions=(*self.decisions, decision), costs=costs)
