"""Repairs as data: edits of a schedule, and the schedules that result from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

from polysched.ir.core.kernel import Kernel, Order
from polysched.legality.verdicts.verdict import Violation
from polysched.schedule.core.program import Program
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step, format_step


@dataclass(frozen=True)
class StepEdit:
    """Replacement of consecutive steps of a schedule.

    Attributes:
        description: the advice for a person.
        first: the index of the first step to replace.
        removed: the number of steps to remove.
        inserted: the steps to insert instead.
    """

    description: str
    first: int
    removed: int
    inserted: tuple[Step, ...]


@dataclass(frozen=True)
class OrderEdit:
    """Change of the kernel: a reduction gets the order policy ``any``."""

    description: str
    statement: str


Edit: TypeAlias = StepEdit | OrderEdit


@dataclass(frozen=True, eq=False)
class Repair:
    """A change that makes an illegal schedule legal, proved by the checker.

    Attributes:
        description: the advice for a person, one line.
        schedule: the repaired schedule, ready to use. If ``edits`` has an :class:`OrderEdit`, it
            schedules the changed kernel.
        edits: the changes; each applies to the result of the change before.
    """

    description: str
    schedule: Schedule
    edits: tuple[Edit, ...]

    def __str__(self) -> str:
        return self.description

    def __repr__(self) -> str:
        return f"<Repair: {self.description}>"


@dataclass(frozen=True, eq=False)
class Case:
    """Illegal schedule with its violation and the index of the offending step."""

    schedule: Schedule
    violation: Violation
    index: int

    @property
    def step(self) -> Step:
        """The offending step."""
        return self.schedule.steps[self.index]

    @property
    def before(self) -> Program:
        """The program before the offending step."""
        return self.schedule.programs[self.index]

    @property
    def after(self) -> Program:
        """The program after the offending step."""
        return self.schedule.programs[self.index + 1]

    @property
    def ends(self) -> tuple[str, ...]:
        """The statements of the witness."""
        witness = self.violation.witness
        sink = () if witness.sink is None else (witness.sink.statement,)
        return tuple(dict.fromkeys((witness.source.statement, *sink)))


def insert_before(schedule: Schedule, index: int, steps: tuple[Step, ...]) -> StepEdit:
    """Insert steps before the step at ``index``."""
    text = f"{format_steps(steps)} before {format_step(schedule.steps[index])}"
    return StepEdit(text, index, 0, steps)


def insert_after(schedule: Schedule, index: int, steps: tuple[Step, ...]) -> StepEdit:
    """Insert steps after the step at ``index``."""
    text = f"{format_steps(steps)} after {format_step(schedule.steps[index])}"
    return StepEdit(text, index + 1, 0, steps)


def replace_step(schedule: Schedule, index: int, steps: tuple[Step, ...]) -> StepEdit:
    """Replace the step at ``index`` by other steps."""
    text = f"{format_steps(steps)} instead of {format_step(schedule.steps[index])}"
    return StepEdit(text, index, 1, steps)


def leave_out(schedule: Schedule, index: int) -> StepEdit:
    """Remove the step at ``index``."""
    return StepEdit(f"leave out {format_step(schedule.steps[index])}", index, 1, ())


def format_steps(steps: tuple[Step, ...]) -> str:
    """Format steps as a chain of calls, ``skew('i', by='t').skew('j', by='t')``."""
    return ".".join(map(format_step, steps))


def apply_edit(schedule: Schedule, edit: Edit) -> Schedule:
    """Apply an edit to a schedule, without judging the result.

    The programs before the edit are reused. Inserted steps get the source line of the step at the
    position of the edit.

    Raises:
        ScheduleError: an inserted or a later step does not fit the changed program.
    """
    if isinstance(edit, OrderEdit):
        return _replayed(schedule.of(_freely_ordered(schedule.kernel, edit.statement)), schedule, 0)
    first = edit.first
    changed = schedule.first(first)
    place = schedule.locations[min(first, len(schedule.locations) - 1)]
    for step in edit.inserted:
        changed = changed.then(step, place)
    return _replayed(changed, schedule, first + edit.removed)


def _replayed(start: Schedule, schedule: Schedule, first: int) -> Schedule:
    for step, location in zip(schedule.steps[first:], schedule.locations[first:], strict=True):
        start = start.then(step, location)
    return start


def _freely_ordered(kernel: Kernel, name: str) -> Kernel:
    statement = kernel.statements[name]
    assert statement.reduction is not None
    free = replace(statement, reduction=replace(statement.reduction, order=Order.ANY))
    return replace(kernel, statements=MappingProxyType({**kernel.statements, name: free}))
