"""All that can be said of one schedule's legality: the verdict, and what a refusal leads to."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.ir.budget import DEFAULT_SECONDS, time_budget
from polysched.legality.check import DEFAULT_QUOTA, check
from polysched.legality.condition import Condition, legality_condition
from polysched.legality.picture import picture
from polysched.legality.repair import Repair
from polysched.legality.repairs import repairs
from polysched.legality.verdict import Verdict, VerdictKind
from polysched.schedule.schedule import Schedule


@dataclass(frozen=True, eq=False)
class Answer:
    """What ``polysched check`` tells.

    Attributes:
        label: how the user named the schedule.
        picture: the lines of the picture around the witness; none where nothing can be drawn.
        condition: for which parameters an illegal schedule is legal, if for any.
        repairs: changes that make an illegal schedule legal, each proved.
    """

    label: str
    schedule: Schedule
    verdict: Verdict
    picture: tuple[str, ...] = ()
    condition: Condition | None = None
    repairs: tuple[Repair, ...] = ()


def answer(
    label: str,
    schedule: Schedule,
    *,
    quota: int = DEFAULT_QUOTA,
    seconds: float = DEFAULT_SECONDS,
) -> Answer:
    """Judge a schedule; if it is illegal look for its picture, its condition and repairs.

    Args:
        quota: operations of isl for the verdict, and again for the condition; 0: no limit.
        seconds: the wall time of the call; 0: no limit.
    """
    with time_budget(seconds):
        return _answer(label, schedule, quota)


def _answer(label: str, schedule: Schedule, quota: int) -> Answer:
    verdict = check(schedule, quota=quota)
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
