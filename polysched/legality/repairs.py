"""Repairs: small changes that make an illegal schedule legal, each proved before it is offered."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import islpy as isl

from polysched.errors import ScheduleError
from polysched.ir.budget import DEFAULT_SECONDS, time_budget
from polysched.ir.quota import QuotaExceededError, operation_quota
from polysched.ir.tree import executed
from polysched.legality.check import check
from polysched.legality.order import demanded, keeps
from polysched.legality.repair import Case, Edit, OrderEdit, Repair, apply_edit
from polysched.legality.repair_copies import copies_for_lanes, copies_for_threads
from polysched.legality.repair_order import (
    fewer_tiled_loops,
    free_reductions,
    omissions,
    other_orders,
    unfused,
)
from polysched.legality.repair_shift import shifts
from polysched.legality.repair_skew import skews
from polysched.legality.repair_storage import more_slots, recomputations
from polysched.legality.repair_vector import distributed, fewer_lanes, other_loops
from polysched.legality.verdict import Verdict
from polysched.schedule.parallel import Parallel
from polysched.schedule.program import Program
from polysched.schedule.schedule import Schedule
from polysched.schedule.vectorize import Vectorize

DEFAULT_LIMIT = 3
MOST_QUESTIONS = 60
"""Candidates that are judged, and kinds of change whose candidates are looked for."""
QUESTION_QUOTA = 2_000_000
"""Operations of isl for one of them."""

Strategy: TypeAlias = Callable[[Case], Sequence[Edit]]

STRATEGIES: tuple[Strategy, ...] = (
    shifts,
    skews,
    fewer_lanes,
    more_slots,
    recomputations,
    other_orders,
    fewer_tiled_loops,
    copies_for_threads,
    copies_for_lanes,
    distributed,
    other_loops,
    unfused,
    free_reductions,
)
"""The kinds of change in the order in which they are tried; of each kind one is offered."""


def repairs(
    schedule: Schedule,
    *,
    verdict: Verdict | None = None,
    limit: int = DEFAULT_LIMIT,
    seconds: float = DEFAULT_SECONDS,
) -> tuple[Repair, ...]:
    """Changes that make an illegal schedule legal, those that keep most of it first.

    Where a single change does not suffice, a second one is looked for that mends what the first
    leaves. Leaving out the guilty step is offered only where nothing else was found. A schedule
    that is not illegal has no repairs, nor has one whose kernel is at fault.

    Args:
        verdict: what :func:`~polysched.legality.check.check` says of the schedule, if known.
        limit: the most repairs to find.
        seconds: the wall time of the call; 0: no limit. When a tenth of it has passed in the
            search no other change is tried, and when a tenth has passed once more no other step is
            left out. ``MOST_QUESTIONS`` is a limit of the same sort.

    Raises:
        ScheduleError: the seconds are not a number, or less than 0.
    """
    with time_budget(seconds):
        return _repairs(schedule, verdict, limit, seconds / 10 if seconds else math.inf)


def _repairs(
    schedule: Schedule, verdict: Verdict | None, limit: int, seconds: float
) -> tuple[Repair, ...]:
    case = _case(schedule, verdict or check(schedule))
    if case is None or limit < 1:
        return ()
    budget = _budget(seconds)
    found, begun = _tried(case, STRATEGIES, limit, budget)
    if not found:
        found = _continued(begun, STRATEGIES, limit, budget)
    if not found:
        budget = _budget(seconds)
        found, begun = _tried(case, (omissions,), 1, budget)
    if not found:
        found = _continued(begun, (*STRATEGIES, omissions), 1, budget)
    return tuple(found)


def _continued(
    begun: list[Repair], strategies: tuple[Strategy, ...], limit: int, budget: Iterator[bool]
) -> list[Repair]:
    """Repairs of two changes, given first changes that do not suffice."""
    found: list[Repair] = []
    for first in begun:
        if len(found) >= limit or not next(budget, False):
            break
        rest = _case(first.schedule, check(first.schedule, quota=QUESTION_QUOTA))
        if rest is not None:
            second, _ = _tried(rest, strategies, limit - len(found), budget)
            found += [_joined(first, repair) for repair in second]
    return found


def _case(schedule: Schedule, verdict: Verdict) -> Case | None:
    violation = verdict.violation
    if violation is None or violation.guilty is None:
        return None
    return Case(schedule, violation, violation.guilty.index)


def _budget(seconds: float) -> Iterator[bool]:
    """True for each question that may still be asked."""
    end = time.monotonic() + seconds
    for _ in range(MOST_QUESTIONS):
        if time.monotonic() > end:
            return
        yield True


def _tried(
    case: Case, strategies: tuple[Strategy, ...], limit: int, budget: Iterator[bool]
) -> tuple[list[Repair], list[Repair]]:
    """The repairs, one a strategy, and changes that mend the guilty step but not what follows."""
    found: list[Repair] = []
    begun: list[Repair] = []
    for strategy in strategies:
        if len(found) >= limit or not next(budget, False):
            break
        repair, beginning = _first_legal(case, _edits(strategy, case), budget)
        found += [repair] if repair else []
        begun += [beginning] if beginning and not repair else []
    return found, begun


def _edits(strategy: Strategy, case: Case) -> Sequence[Edit]:
    try:
        with operation_quota(QUESTION_QUOTA):
            return strategy(case)
    except (QuotaExceededError, ScheduleError, isl.Error):
        return ()


def _first_legal(
    case: Case, edits: Sequence[Edit], budget: Iterator[bool]
) -> tuple[Repair | None, Repair | None]:
    """The first edit that mends the schedule; the first that mends it up to the guilty step."""
    beginning: Repair | None = None
    for edit in edits:
        if not next(budget, False):
            break
        try:
            changed = apply_edit(case.schedule, edit)
        except ScheduleError:  # a later step no longer fits
            continue
        repair = Repair(edit.description, changed, (edit,))
        if _keeps_order(changed.program) and check(changed, quota=QUESTION_QUOTA).is_legal:
            return repair, None
        guilty = case.index + len(changed.steps) - len(case.schedule.steps)
        freed = isinstance(edit, OrderEdit) and isinstance(case.step, Vectorize | Parallel)
        if beginning is None and (freed or _keeps_order(changed.programs[guilty + 1])):
            beginning = repair
    return None, beginning


def _keeps_order(program: Program) -> bool:
    """A quick look, which finds no witness: most candidates fail here."""
    try:
        with operation_quota(QUESTION_QUOTA):
            return keeps(executed(program.tree), demanded(program.dependences))
    except (QuotaExceededError, isl.Error):
        return False


def _joined(first: Repair, second: Repair) -> Repair:
    return Repair(
        f"{first.description}; then {second.description}",
        second.schedule,
        (*first.edits, *second.edits),
    )
