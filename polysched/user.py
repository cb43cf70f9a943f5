"""The schedule that users hold: the value, and all that may be asked of it.

The stages of the flow are functions that take a schedule; here they are its methods, so that
``ps.Schedule(kernel).vectorize("i", 16).check()`` reads as it is meant. Nothing is computed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, cast

from polysched import lower
from polysched.ir.budget import DEFAULT_SECONDS
from polysched.legality import check as checker
from polysched.legality import condition, loop_properties, loop_reports
from polysched.legality import repairs as repairer
from polysched.legality.repair import Repair
from polysched.legality.verdict import Verdict
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
        """Judge the schedule: see :func:`polysched.legality.check.check`."""
        return checker.check(self, quota=quota, seconds=seconds)

    def condition(self, *, seconds: float = DEFAULT_SECONDS) -> condition.Condition | None:
        """For which parameters it is legal, if not for all: see
        :func:`polysched.legality.condition.legality_condition`.
        """
        return condition.legality_condition(self, seconds=seconds)

    def repairs(
        self,
        *,
        limit: int = repairer.DEFAULT_LIMIT,
        seconds: float = DEFAULT_SECONDS,
    ) -> tuple[Repair, ...]:
        """Changes that make it legal, each proved: see :func:`polysched.legality.repairs.repairs`.

        ``schedule.repair(schedule.repairs()[0])`` is the repaired schedule.
        """
        return repairer.repairs(self, limit=limit, seconds=seconds)

    def repair(self, repair: Repair) -> Self:
        """The schedule that a repair of this one gives."""
        return cast(Self, repair.schedule)  # repairs keep the class of the schedule they are of

    def explain(self, *, seconds: float = DEFAULT_SECONDS) -> str:
        """What every loop could be, and which dependence stands in the way: see
        :func:`polysched.legality.loop_properties.explain_loops`, which gives it as records.
        """
        reports = loop_properties.explain_loops(self, seconds=seconds)
        return loop_reports.format_loop_reports(reports)

    def show(self, stage: str = "loops", machine: Machine | str | None = None) -> str:
        """One stage of the flow as text: see :func:`polysched.lower.show`."""
        return lower.show(self, stage, machine)

    def compile(
        self,
        machine: Machine | str | None = None,
        *,
        guard: bool = False,
        cache: ObjectCache | None = None,
        seconds: float = DEFAULT_SECONDS,
    ) -> CompiledKernel:
        """Prove it legal and return the callable kernel: see :func:`polysched.lower.compile`."""
        return lower.compile(self, machine, guard=guard, cache=cache, seconds=seconds)

    def plot(self, view: View | None = None) -> Figure:
        """Iterations, dependences, order and witness in a picture: see
        :func:`polysched.plot.figure.plot`.
        """
        return figure.plot(self, view)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return notebook.schedule_html(self)
