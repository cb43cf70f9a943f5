"""The public ``Schedule`` class: a schedule with the pipeline stages as methods.

The stages are functions that take a schedule. This class forwards to them, so that users can chain
calls: ``ps.Schedule(kernel).vectorize("i", 16).check()``.

The autoscheduler and the pictures are imported by the methods that need them: a library call that
compiles a kernel needs neither.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

from polysched import lower
from polysched.errors import ScheduleError, SlowScheduleWarning
from polysched.html import Text
from polysched.ir.core.kernel import Kernel
from polysched.ir.isl.budget import DEFAULT_SECONDS, SAFETY_SECONDS
from polysched.legality import check as checker
from polysched.legality import condition
from polysched.legality.repairs import search as repairer
from polysched.legality.repairs.repair import Repair
from polysched.legality.reports import loop_reports
from polysched.legality.verdicts.verdict import Verdict
from polysched.machine.description import Machine
from polysched.machine.load import as_machine
from polysched.runtime.cache import ObjectCache
from polysched.runtime.kernel import CompiledKernel
from polysched.schedule.notation.file import apply_file
from polysched.schedule.schedule import Schedule as BareSchedule
from polysched.signature_errors import with_signature_errors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from polysched.autoscheduler.driver import Optimized
    from polysched.autoscheduler.report import Report
    from polysched.plot.view import View


@dataclass(frozen=True, eq=False, repr=False)
class Schedule(BareSchedule):
    """A kernel and the steps applied to it; see :class:`polysched.schedule.schedule.Schedule`.

    Attributes:
        optimized: the result of :func:`optimize` that the schedule comes from; None for others.
    """

    optimized: Optimized | None = field(default=None, kw_only=True)

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
        self, *, limit: int = repairer.DEFAULT_LIMIT, seconds: float = DEFAULT_SECONDS
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

        :func:`polysched.legality.reports.loop_properties.explain_loops` returns the report as
        records.
        """
        reports = loop_reports.explained(self, seconds=seconds)
        return Text(loop_reports.format_loop_reports(reports))

    def report(
        self, machine: Machine | str | None = None, *, sizes: Mapping[str, int] | None = None
    ) -> Report:
        """Report what each loop does and why, with the costs that the model predicts.

        Args:
            machine, sizes: as in :func:`optimize`; by default those of the call of it.
        """
        from polysched.autoscheduler.facts.sizes import model_sizes  # noqa: PLC0415
        from polysched.autoscheduler.report import report_of  # noqa: PLC0415  (see the module)

        made = self.optimized
        if made is not None and made.schedule.steps != self.steps[: len(made.schedule.steps)]:
            made = None
        target = made.machine if made and machine is None else as_machine(machine)
        chosen = made.sizes if made and sizes is None else model_sizes(self.kernel, sizes)
        return report_of(self, target, chosen, made)

    def apply(self, file: Path | str) -> Self:
        """Append the steps of a schedule file, as ``trace()`` and ``polysched optimize`` write it.

        Raises:
            ScheduleError: the file cannot be read, or a line of it is not a step that fits.
        """
        return apply_file(self, file)

    def show(self, stage: str = "loops", machine: Machine | str | None = None) -> str:
        """Print one stage of the pipeline as text: see :func:`polysched.lower.show`."""
        return Text(lower.show(self, stage, machine))

    def compile(
        self,
        machine: Machine | str | None = None,
        *,
        guard: bool = False,
        cache: ObjectCache | None = None,
        seconds: float = SAFETY_SECONDS,
    ) -> CompiledKernel:
        """Prove the schedule legal and compile it: see :func:`polysched.user.compile`."""
        target = as_machine(machine)
        compiled = lower.compile(self, target, guard=guard, cache=cache, seconds=seconds)
        _warn_if_slow(self, target)
        return compiled

    def plot(self, view: View | None = None) -> Figure:
        """Plot iterations, dependences and witness: see :func:`polysched.plot.figure.plot`."""
        from polysched.plot import figure  # noqa: PLC0415  (see the module)

        return figure.plot(self, view)

    def _repr_html_(self) -> str:
        from polysched.plot import notebook  # noqa: PLC0415  (see the module)

        return notebook.schedule_html(self)


def compile(
    schedule: Kernel | BareSchedule,
    machine: Machine | str | None = None,
    *,
    guard: bool = False,
    cache: ObjectCache | None = None,
    seconds: float = SAFETY_SECONDS,
) -> CompiledKernel:
    """Prove a schedule legal, compile it and return the callable kernel.

    The arguments and the errors are those of :func:`polysched.lower.compile`.

    Warns:
        SlowScheduleWarning: the cost model predicts the schedule to be far slower than the program
            as written. A schedule that comes from :func:`optimize` is not judged again.
    """
    target = as_machine(machine)
    compiled = lower.compile(schedule, target, guard=guard, cache=cache, seconds=seconds)
    _warn_if_slow(schedule, target)
    return compiled


def _warn_if_slow(schedule: Kernel | BareSchedule, machine: Machine) -> None:
    """Warn of a schedule that is far slower, unless warnings are off: a prediction takes time."""
    if _is_ignored(SlowScheduleWarning):
        return
    if isinstance(schedule, BareSchedule) and getattr(schedule, "optimized", None) is None:
        from polysched.autoscheduler.slowdown import slowdown  # noqa: PLC0415  (see the module)

        slow = slowdown(schedule, machine)
        if slow is not None:
            advice = "schedule.report() gives the prediction of each statement"
            warnings.warn(f"{slow}. {advice}", SlowScheduleWarning, stacklevel=3)


def _is_ignored(category: type[Warning]) -> bool:
    """Whether the filters ignore all warnings of a category, so that there is no need for one."""
    for action, message, filtered, module, line in warnings.filters:
        if issubclass(category, filtered):
            return action == "ignore" and not (message or module or line)
    return False


@with_signature_errors
def optimize(
    kernel: Kernel | BareSchedule,
    machine: Machine | str | None = None,
    *,
    threads: int = 1,
    sizes: Mapping[str, int] | None = None,
    seconds: float | None = None,
) -> Schedule:
    """Find a schedule without a person: public primitives only, proved legal by the checker.

    The same kernel, machine and version of polysched give the same schedule. Nothing is timed: an
    analytic model predicts costs. If no change is predicted to gain, the schedule stays as it is.
    ``schedule.report()`` says for every loop what was done, or what stands in the way.

    Args:
        kernel: a kernel, or a schedule whose steps are kept and continued.
        machine: the target: a description, a preset's name or a file; by default this machine.
        threads: the number of threads to use.
        sizes: values of parameters for which to predict costs; the schedule is legal for all.
        seconds: limit on the processor time of the search, by default 120, which is far more than
            it takes; 0 returns the schedule as it is, proved. The report says whether the limit has
            ended the search.

    Raises:
        IllegalScheduleError, UnknownLegalityError: the given schedule is not proved legal; the
            message holds the witness.
        ScheduleError: an argument is invalid, or ``sizes`` contradicts the kernel's context.
    """
    from polysched.autoscheduler.driver import optimize_schedule  # noqa: PLC0415  (see the module)

    start = as_user_schedule(kernel)
    made = optimize_schedule(
        start, as_machine(machine), threads=threads, sizes=sizes, seconds=seconds
    )
    return replace(cast(Schedule, made.schedule), optimized=made)


def as_user_schedule(value: Kernel | BareSchedule) -> Schedule:
    """Return a kernel or a schedule as the class that users hold.

    Raises:
        ScheduleError: ``value`` is neither.
    """
    match value:
        case Schedule():
            return value
        case BareSchedule(kernel=kernel, steps=steps, locations=locations, programs=programs):
            return Schedule(kernel, steps, locations, programs)
        case Kernel():
            return Schedule(value)
    raise ScheduleError(
        f"expected a Kernel or a Schedule; got a {type(value).__name__}: @ps.kernel makes a kernel "
        "of a function with annotations; ps.jit(function) needs none, and finds a schedule itself"
    )
