"""Proposals of recipes, and candidates for the final schedule."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from polysched.autoscheduler.cost.statement import Cost
from polysched.autoscheduler.forms.nests import Nest
from polysched.machine.description import Machine
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step

LEAST_OF_PREDICTED = 0.8
"""The least part of its predicted cycles that a nest has once its steps are applied.

Facts of a plan are derived by arithmetic, facts of a program by isl. Of 858 register tiles for the
gallery and for ``bench/programs``, 849 have 0.957 to 1.6 of the prediction.
"""

LEAST_GAIN = 0.97
"""A proposal replaces another only if its nest then takes at most this part of its cycles.

Smaller differences are within the error of the model; the simpler schedule wins.
"""


@dataclass(frozen=True)
class Decision:
    """Steps that belong together, and the reason for them.

    Attributes:
        statements: the statements that they are for.
        reason: one sentence with the numbers that decided.
    """

    steps: tuple[Step, ...]
    statements: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Situation:
    """Input of a recipe: a nest of a schedule, and the machine to schedule it for.

    Attributes:
        sizes: a value for each parameter, for which costs are predicted.
        most_cycles: a proposal replaces the best one so far if its nest takes fewer cycles.
        least_cycles: the lower bound of the nest.
    """

    schedule: Schedule
    nest: Nest
    machine: Machine
    sizes: Mapping[str, int]
    most_cycles: float = math.inf
    least_cycles: float = 0.0

    def is_best(self, cycles: float) -> bool:
        """Whether no schedule of the nest can gain over one that takes these cycles."""
        return LEAST_GAIN * cycles <= self.least_cycles

    def may_gain(self, cycles: float) -> bool:
        """Whether a proposal may be taken whose nest has these cycles by arithmetic on facts."""
        return cycles * LEAST_OF_PREDICTED < self.most_cycles


@dataclass(frozen=True)
class Proposal:
    """Steps that a recipe proposes for one nest.

    Attributes:
        reason: one sentence with the numbers that decided.
        cycles: the cost of the nest that the recipe has derived from facts; 0 if it has not.
    """

    steps: tuple[Step, ...]
    reason: str
    cycles: float = 0.0


Recipe: TypeAlias = Callable[[Situation], Iterable[Proposal]]
"""A recipe: proposals for a nest, the most promising first."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A schedule with the decisions that made it and the costs predicted for it.

    Attributes:
        schedule: the schedule, not yet proved.
        decisions: the decisions, in the order of their steps, after the steps of the start.
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
