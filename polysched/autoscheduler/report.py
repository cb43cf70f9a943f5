"""The report: what was done to each loop and why, and what stands in the way of the others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polysched.autoscheduler.cost.program import program_costs
from polysched.autoscheduler.cost.statement import Cost
from polysched.autoscheduler.driver import Optimized
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.statement import StatementFacts
from polysched.autoscheduler.forms.candidate import Decision
from polysched.html import preformatted, titled
from polysched.ir.core.tree import Loop, LoopKind, loops
from polysched.legality.reports.loop_properties import LoopReport, Obstacle, explain_loops
from polysched.legality.reports.loop_reports import FREE_THE_ORDER, format_obstacle, keeps_order
from polysched.machine.costs import Costs
from polysched.machine.description import Machine
from polysched.schedule.core.program import number_of_values
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import format_step

_THREADS_ARE_LEGAL = "threads are legal, but "

NOT_WORTH_IT = "the program is too short to be worth a search"

_SMALL = 0.01
"""Share of the predicted cycles below which a statement is counted, not shown ..."""
_FEW = 3
"""... if there are at least so many of them."""


@dataclass(frozen=True)
class LoopEntry:
    """One loop of the final program.

    Attributes:
        loop: the name of the loop in a step.
        depth: the number of loops around it.
        kind: ``for``, ``vector``, ``unrolled`` or ``parallel``.
        trip: the average trip count for the sizes of the report.
        statements: the statements below it.
        scalar: why its iterations are not lanes; None if they are, contain vectors, or are
            unrolled inside a vector.
        serial: why its iterations do not run on threads; None if they do, or are written out.
        kept: whether a reduction that keeps its order is in the way of vectors or threads.
    """

    loop: str
    depth: int
    kind: str
    trip: float
    statements: tuple[str, ...]
    scalar: str | None
    serial: str | None
    kept: bool


@dataclass(frozen=True)
class StatementEntry:
    """One statement of the final program with the prediction of the cost model.

    Attributes:
        cycles: predicted cycles of all its instances.
        bound: the resource that decides.
        compute: cycles of that resource in the core.
        memory: cycles of traffic between the caches.
        registers: vector registers that hold values across the innermost loop.
    """

    statement: str
    cycles: float
    bound: str
    compute: float
    memory: float
    registers: int


@dataclass(frozen=True, repr=False)
class Report:
    """The report of a schedule.

    Attributes:
        sizes: the values of the parameters for which costs are predicted.
        written: predicted cycles of the schedule from which the autoscheduler started; None if the
            schedule was not made by it.
        cycles: predicted cycles of the schedule.
        decisions: steps with the reason for them.
        dropped: steps that were left out since the checker did not prove them, with its reason.
        stopped: the seconds after which the time limit ended the search; None if it was finished.
        is_searched: whether more than vectors in innermost loops and partial sums was tried.
        operations: isl's operations whose limit ended the search; None if they did not.
    """

    kernel: str
    machine: str
    sizes: Mapping[str, int]
    written: float | None
    cycles: float
    decisions: tuple[Decision, ...]
    dropped: tuple[tuple[Decision, str], ...]
    loops: tuple[LoopEntry, ...]
    statements: tuple[StatementEntry, ...]
    stopped: float | None = None
    is_searched: bool = True
    operations: int | None = None

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def __repr__(self) -> str:
        """Format the first lines of the text; ``str(report)`` is the whole text."""
        return f"<Report of {'; '.join(str(self).splitlines()[:2])}>"

    def _repr_html_(self) -> str:
        title, *lines = str(self).splitlines()
        return titled(title, preformatted("\n".join(lines)))

    def as_json(self) -> dict[str, Any]:
        """Return the report as dictionaries, lists, strings and numbers for ``json.dumps``."""
        return {
            "kernel": self.kernel,
            "machine": self.machine,
            "sizes": dict(self.sizes),
            "written": self.written,
            "cycles": self.cycles,
            "stopped": self.stopped,
            "operations": self.operations,
            "decisions": [_decision_as_json(decision) for decision in self.decisions],
            "dropped": [
                {**_decision_as_json(decision), "refused": reason}
                for decision, reason in self.dropped
            ],
            "loops": [vars(entry) | {"statements": list(entry.statements)} for entry in self.loops],
            "statements": [dict(vars(entry)) for entry in self.statements],
        }


def _decision_as_json(decision: Decision) -> dict[str, Any]:
    return {
        "steps": [format_step(step) for step in decision.steps],
        "statements": list(decision.statements),
        "reason": decision.reason,
    }


def report_of(
    schedule: Schedule,
    machine: Machine,
    sizes: Mapping[str, int],
    optimized: Optimized | None = None,
) -> Report:
    """Report on a schedule.

    Args:
        optimized: the result of the autoscheduler that the schedule begins with, if any.
    """
    program = schedule.program
    facts = {name: statement_facts(program, name, sizes) for name in program.tree.statements}
    costs = program_costs(program, facts, machine, sizes)
    trips = {
        (name, loop.name): loop.trip
        for name, statement in facts.items()
        for loop in statement.loops
    }
    missing = "not predicted to gain"
    if optimized is not None and optimized.stopped is not None:
        missing = "the time limit ended the search"
    elif optimized is not None and optimized.operations is not None:
        missing = "the limit of isl operations ended the search"
    elif optimized is not None and not optimized.is_searched:
        missing = NOT_WORTH_IT
    is_asked = optimized is None or optimized.threads > 1
    entries = tuple(
        _entry(
            properties,
            loop,
            # The facts have no loop over the terms of one instruction.
            trips.get((loop.statements[0], loop.name), float(number_of_values(program, loop) or 1)),
            missing,
            _why_no_threads(loop, facts, costs, machine.costs, missing)
            if is_asked
            else "one thread is requested",
        )
        for properties, loop in zip(explain_loops(schedule), loops(program.tree), strict=True)
    )
    return Report(
        schedule.kernel.name,
        machine.name,
        dict(sizes),
        None if optimized is None else optimized.before.cycles,
        sum(cost.cycles for cost in costs.values()),
        () if optimized is None else optimized.decisions,
        () if optimized is None else optimized.dropped,
        entries,
        tuple(
            StatementEntry(name, cost.cycles, cost.bound, cost.compute, cost.memory, cost.registers)
            for name, cost in costs.items()
        ),
        None if optimized is None else optimized.stopped,
        optimized is None or optimized.is_searched,
        None if optimized is None else optimized.operations,
    )


def _entry(
    properties: LoopReport, loop: Loop, trip: float, missing: str, no_threads: str
) -> LoopEntry:
    return LoopEntry(
        properties.loop,
        properties.depth,
        loop.kind.value,
        trip,
        properties.statements,
        _why_scalar(properties, loop, missing),
        _why_serial(properties, no_threads),
        keeps_order((properties,)),
    )


def _why_scalar(properties: LoopReport, loop: Loop, missing: str) -> str | None:
    if properties.lanes is None:
        has_vectors = any(other.kind is LoopKind.VECTOR for other in loops(loop))
        if has_vectors or loop.kind is LoopKind.VECTOR:
            return None
        is_unrolled = loop.kind is LoopKind.UNROLLED
        return None if is_unrolled else "a loop around it is a vector"
    if properties.scalar is None:
        return "the checker could not decide within its quota whether lanes are legal"
    if properties.scalar:
        up_to = f"at most {properties.lanes} lanes are legal: " if properties.lanes > 1 else ""
        return f"{up_to}{_first_obstacle(properties.scalar)}"
    return f"lanes are legal, but {missing}"


def _why_no_threads(
    loop: Loop,
    facts: Mapping[str, StatementFacts],
    costs: Mapping[str, Cost],
    machine_costs: Costs,
    missing: str,
) -> str:
    """Return why a loop that may run on threads does not, where threads are requested."""
    if sum(cost.cycles for cost in costs.values()) < machine_costs.threaded_program:
        return f"{missing}: the program takes less than {machine_costs.threaded_program:.0e} cycles"
    cycles = sum(costs[name].cycles for name in loop.statements)
    statement = facts[loop.statements[0]]
    outside = [other.name for other in statement.loops].index(loop.name)
    entries = math.prod(max(1.0, other.trip) for other in statement.loops[:outside])
    least = machine_costs.shared_loop
    if cycles / entries < least:
        return f"{missing}: less than {least:.0e} cycles of work in each run of the loop"
    return missing


def _why_serial(properties: LoopReport, missing: str) -> str | None:
    if properties.kind is not LoopKind.SEQUENTIAL:
        return None
    if properties.serial is None:
        return "the checker could not decide within its quota whether threads are legal"
    if properties.serial:
        return _first_obstacle(properties.serial)
    return f"{_THREADS_ARE_LEGAL}{missing}"


def _first_obstacle(obstacles: Sequence[Obstacle]) -> str:
    further = len(obstacles) - 1
    rest = f"; and {further} more" if further else ""
    return f"{format_obstacle(obstacles[0])}{rest}"


def loop_lines(entries: Iterable[LoopEntry]) -> Iterator[str]:
    """Format loops of the final program, the outermost first, and what stands in their way.

    Inside a loop that may run on threads, the reason why there are none is not repeated.
    """
    around: list[LoopEntry] = []
    for entry in entries:
        around = [outer for outer in around if outer.depth < entry.depth]
        is_said = any(outer.serial == entry.serial for outer in around)
        yield from _loop_lines(entry, has_serial=not is_said)
        if entry.serial is not None and entry.serial.startswith(_THREADS_ARE_LEGAL):
            around.append(entry)


def _loop_lines(loop: LoopEntry, *, has_serial: bool) -> Iterator[str]:
    indent = "  " * (loop.depth + 1)
    trip = f"{loop.trip:.4g}"
    yield f"{indent}{loop.kind} {loop.loop} (about {trip} iteration{'' if trip == '1' else 's'})"
    if loop.scalar is not None:
        yield f"{indent}  scalar: {loop.scalar}"
    if loop.serial is not None and has_serial:
        yield f"{indent}  serial: {loop.serial}"


def _limits(report: Report) -> Iterator[str]:
    """Yield a line for the limit that ended the search, if one did."""
    if report.stopped is not None:
        yield (
            f"stopped after {report.stopped:.1f} s: the time limit ended the search, and more time "
            "may find more; give it more seconds"
        )
    if report.operations is not None:
        yield (
            f"limited to {report.operations:,} isl operations: the search ended with the best "
            "schedule so far; distribute or simplify the loops to search more of them"
        )


def _lines(report: Report) -> Iterator[str]:
    sizes = "".join(f", {name} = {value}" for name, value in report.sizes.items())
    yield f"{report.kernel} for {report.machine}{sizes}"
    if report.written is None:
        yield f"predicted: {report.cycles:.3g} cycles"
    else:
        gain = f"{report.written / max(report.cycles, 1.0):.1f}"
        before = f"{gain} times as fast as {report.written:.3g} cycles before"
        yield f"predicted: {report.cycles:.3g} cycles, {'as before' if gain == '1.0' else before}"
    yield from _limits(report)
    yield ""
    yield "decisions:"
    for decision in report.decisions:
        yield f"  {', '.join(decision.statements)}: {decision.reason}"
    if not report.is_searched:
        yield f"  {NOT_WORTH_IT}: only vectors in innermost loops and partial sums were tried"
    elif not report.decisions and not list(_limits(report)):
        yield "  none: no change is predicted to gain"
    elif not report.decisions:
        yield "  none found and proved within the limit"
    for decision, reason in report.dropped:
        yield f"  left out for {', '.join(decision.statements)}: {reason.splitlines()[0]}"
    yield ""
    yield "statements:"
    small = [
        statement for statement in report.statements if statement.cycles < _SMALL * report.cycles
    ]
    for entry in report.statements:
        if len(small) < _FEW or entry not in small:
            yield (
                f"  {entry.statement}: {entry.cycles:.3g} cycles, bound by {entry.bound} (core "
                f"{entry.compute:.3g}, caches {entry.memory:.3g}), registers held: "
                f"{entry.registers}"
            )
    if len(small) >= _FEW:
        together = sum(statement.cycles for statement in small)
        yield f"  {len(small)} others: {together:.3g} cycles, each less than {_SMALL:.0%} of all"
    yield ""
    yield "loops:"
    yield from loop_lines(report.loops)
    if any(loop.kept for loop in report.loops):
        yield f"hint: {FREE_THE_ORDER}"


def schedule_text(schedule: Schedule, optimized: Optimized) -> str:
    """Return a schedule file: the steps, each group after a comment with its reason."""
    given = len(optimized.start.steps)
    lines = [
        f"# {schedule.kernel.name} for {optimized.machine.name}: predicted "
        f"{optimized.after.cycles:.3g} cycles, {optimized.before.cycles:.3g} before"
    ]
    if given:
        lines += ["# as given", *map(format_step, schedule.steps[:given])]
    for decision in optimized.decisions:
        lines.append(f"# {', '.join(decision.statements)}: {decision.reason}")
        lines += map(format_step, decision.steps)
    return "\n".join(lines) + "\n"
