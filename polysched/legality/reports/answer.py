"""Legality report of a schedule: the verdict and, if it is illegal, condition and repairs."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.ir.core.kernel import Order
from polysched.ir.isl.budget import DEFAULT_SECONDS, time_budget
from polysched.legality.check import DEFAULT_QUOTA, check
from polysched.legality.condition import Condition, legality_condition
from polysched.legality.repairs.repair import Repair
from polysched.legality.repairs.search import repairs
from polysched.legality.reports.loop_reports import FREE_THE_ORDER
from polysched.legality.reports.picture import picture
from polysched.legality.verdicts.verdict import Verdict, VerdictKind, ViolationKind
from polysched.schedule.schedule import Schedule

CONDITION = "legal if and only if "
REPAIR = "try: "
HINT = "hint: "


@dataclass(frozen=True, eq=False)
class Answer:
    """Legality report of one schedule, as ``polysched check`` prints it.

    Attributes:
        label: the user's name of the schedule.
        picture: the lines of the picture around the witness; empty if nothing can be drawn.
        condition: the parameter values for which an illegal schedule is legal; None if unknown or
            empty.
        repairs: changes that make an illegal schedule legal, each proved.
    """

    label: str
    schedule: Schedule
    verdict: Verdict
    picture: tuple[str, ...] = ()
    condition: Condition | None = None
    repairs: tuple[Repair, ...] = ()


def answer(
    label: str, schedule: Schedule, *, quota: int = DEFAULT_QUOTA, seconds: float = DEFAULT_SECONDS
) -> Answer:
    """Judge a schedule; if it is illegal, compute its picture, its condition and repairs.

    Args:
        quota: isl operations for the verdict, and again for the condition; 0: no limit.
        seconds: processor time of the call; 0: no limit.
    """
    with time_budget(seconds):
        return answer_of(label, schedule, check(schedule, quota=quota), quota)


def answer_of(
    label: str, schedule: Schedule, verdict: Verdict, quota: int = DEFAULT_QUOTA
) -> Answer:
    """Add picture, condition and repairs to the verdict of a schedule; arguments as `answer`."""
    if verdict.kind is not VerdictKind.ILLEGAL:
        return Answer(label, schedule, verdict)
    assert verdict.violation is not None
    return Answer(
        label,
        schedule,
        verdict,
        picture(schedule.program, verdict.violation),
        legality_condition(schedule, quota=quota),
        repairs(schedule, verdict=verdict),
    )


def advice(answered: Answer) -> tuple[str, ...]:
    """Format picture, condition and repairs, as ``polysched check`` prints them after a verdict."""
    condition = answered.condition
    return (
        *(f"    {line}" for line in answered.picture),
        *(() if condition is None else (f"{CONDITION}{condition}",)),
        *(f"{REPAIR}{repair.description}" for repair in answered.repairs),
        *((f"{HINT}{FREE_THE_ORDER}",) if _keeps_order(answered) else ()),
    )


def _keeps_order(answered: Answer) -> bool:
    """Whether updates of a reduction that keeps its order run at once."""
    violation = answered.verdict.violation
    at_once = (ViolationKind.VECTOR, ViolationKind.PARALLEL)
    if violation is None or violation.kind not in at_once or violation.witness.sink is None:
        return False
    witness, statements = violation.witness, answered.schedule.program.statements
    statement = statements.get(witness.source.statement)
    return (
        statement is not None
        and violation.dependence is not None
        and violation.witness.sink.statement == statement.name
        and violation.array == statement.target.array
        and statement.reduction is not None
        and statement.reduction.order is Order.EXACT
    )
