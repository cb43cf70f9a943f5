"""The public ``Schedule`` class: a schedule with the pipeline stages as methods.

The stages are functions that take a schedule. This class forwards to them, so that users can chain
calls: ``ps.Schedule(kernel).vectorize("i", 16).check()``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, cast

from polysched import lower
from polysched.ir.isl.budget import DEFAULT_SECONDS
from polysched.legality import check as checker
from polysched.legality import condition
from polysched.legality.repairs import search as repairer
from polysched.legality.repairs.repair import Repair
from polysched.legality.reports import loop_properties, loop_reports
from polysched.legality.verdicts.verdict import Verdict
from polysched.machine.description import Machine
from polysched.plot import figure, notebook
from polysched.plot.view import View
from polysched.runtime.cache import ObjectCache
from polysched.runtime.kernel import CompiledKernel
from polysched.schedule.schedule import Schedule as BareSchedule

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Schedule(BareSchedule):
    """A kernel and the steps applied to it; see :class:`polysched.schedule.schedule.Schedule`."""

    def check(
        self, *, quota: int = checker.DEFAULT_QUOTA, seconds: float = DEFAULT_SECONDS
    ) -> Verdict:
        """Prove or refute the schedule: see :func:`polysched.legality.check.check`."""
        return checker.check(self, quota=quota, seconds=seconds)

    def condition(self, *, seconds: float = DEFAULT_SECONDS) -> condition.Condition | None:
        """Compute the parameter values for which the schedule is legal, if not for all.

        See :func:`polysched.legality.condition.legality_condition`.
        """
        return condition.legality_condition(self, seconds=seconds)

    def repairs(
        self,
        *,
        limit: int = repairer.DEFAULT_LIMIT,
        seconds: float = DEFAULT_SECONDS,
    ) -> tuple[Repair, ...]:
        """Propose changes that make the schedule legal; each is proved.

        ``schedule.repair(schedule.repairs()[0])`` is the repaired schedule. See
        :func:`polysched.legality.repairs.search.repairs`.
        """
        return repairer.repairs(self, limit=limit, seconds=seconds)

    def repair(self, repair: Repair) -> Self:
        """Return the repaired schedule."""
        return cast(Self, repair.schedule)  # a repair keeps the class of the original schedule

    def explain(self, *, seconds: float = DEFAULT_SECONDS) -> str:
        """Report the legal kinds of every loop and the dependences that rule out the others.

        :func:`polysched.legality.reports.loop_properties.explain_loops` returns the report as records.
        """
        reports = loop_properties.explain_loops(self, seconds=seconds)
        return loop_reports.format_loop_reports(reports)

    def show(self, stage: str = "loops", machine: Machine | str | None = None) -> str:
        """Print one stage of the pipeline as text: see :func:`polysched.lower.show`."""
        return lower.show(self, stage, machine)

    def compile(
        self,
        machine: Machine | str | None = None,
        *,
        guard: bool = False,
        cache: ObjectCache | None = None,
        seconds: float = DEFAULT_SECONDS,
    ) -> CompiledKernel:
        """Prove the schedule legal and compile it: see :func:`polysched.lower.compile`."""
        return lower.compile(self, machine, guard=guard, cache=cache, seconds=seconds)

    def plot(self, view: View | None = None) -> Figure:
        """Plot iterations, dependences and witness: see :func:`polysched.plot.figure.plot`."""
        return figure.plot(self, view)

    def _repr_html_(self) -> str:
        return notebook.schedule_html(self)
