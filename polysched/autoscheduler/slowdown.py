"""Warn of a legal schedule that the cost model predicts to be far slower than the program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polysched.autoscheduler.cost.program import program_costs
from polysched.autoscheduler.cost.statement import Cost
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.sizes import model_sizes
from polysched.errors import PolyschedError
from polysched.ir.isl.quota import QuotaExceededError
from polysched.machine.description import Machine
from polysched.schedule.core.program import Program
from polysched.schedule.schedule import Schedule

FAR_SLOWER = 3.0
"""Ratio of predicted cycles, schedule to program as written, above which a schedule is reported.

The schedules of the gallery are predicted at 0.01 to 0.65 of their programs. Loop orders of a
product that a user may want to time are at up to 2.3. A histogram with one copy for each of four
iterations is at 200, and was measured at 750.
"""


@dataclass(frozen=True)
class Slowdown:
    """A schedule that is predicted to be far slower than the program as written.

    Attributes:
        ratio: predicted cycles of the schedule, divided by those of the program as written.
        statement: the statement of the schedule that takes the most cycles.
        share: its share of the cycles.
        bound: the resource that decides its cycles.
        sizes: the values of the parameters for which costs are predicted.
    """

    ratio: float
    statement: str
    share: float
    bound: str
    sizes: Mapping[str, int]

    def __str__(self) -> str:
        sizes = ", ".join(f"{name} = {value}" for name, value in self.sizes.items())
        given = f" with {sizes}" if sizes else ""
        return (
            f"the schedule is predicted to take {self.ratio:.3g} times as long as the program as "
            f"written{given}: statement '{self.statement}' takes {self.share:.0%} of it, bound by "
            f"{self.bound}"
        )


def slowdown(
    schedule: Schedule, machine: Machine, sizes: Mapping[str, int] | None = None
) -> Slowdown | None:
    """Predict whether a schedule is far slower than its kernel as written; None if it is not.

    Args:
        sizes: values of parameters, as for ``ps.optimize``.
    """
    if not schedule.steps:
        return None
    try:
        values = model_sizes(schedule.kernel, sizes)
        written = _costs(schedule.programs[0], machine, values)
        costs = _costs(schedule.program, machine, values)
    except (PolyschedError, QuotaExceededError):  # the model has no answer, so there is no advice
        return None
    cycles = sum(cost.cycles for cost in costs.values())
    ratio = cycles / max(1.0, sum(cost.cycles for cost in written.values()))
    if ratio < FAR_SLOWER:
        return None
    worst = max(costs, key=lambda name: costs[name].cycles)
    share = costs[worst].cycles / max(1.0, cycles)
    return Slowdown(ratio, worst, share, costs[worst].bound, dict(values))


def _costs(program: Program, machine: Machine, sizes: Mapping[str, int]) -> dict[str, Cost]:
    facts = {name: statement_facts(program, name, sizes) for name in program.tree.statements}
    return dict(program_costs(program, facts, machine, sizes))
