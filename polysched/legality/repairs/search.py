"""Search for repairs: small changes, each proved, that make an illegal schedule legal."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import islpy as isl

from polysched.errors import ScheduleError
from polysched.ir.core.tree import executed
from polysched.ir.isl.budget import DEFAULT_SECONDS, time_budget
from polysched.ir.isl.quota import QuotaExceededError, operation_quota
from polysched.legality.check import check
from polysched.legality.checks.order import demanded, keeps
from polysched.legality.repairs.repair import Case, Edit, OrderEdit, Repair, apply_edit
from polysched.legality.repairs.repair_copies import copies_for_lanes, copies_for_threads
from polysched.legality.repairs.repair_order import (
    fewer_tiled_loops,
    free_reductions,
    omissions,
    other_orders,
    unfused,
)
from polysched.legality.repairs.repair_shift import shifts
from polysched.legality.repairs.repair_skew import skews
from polysched.legality.repairs.repair_storage import (
    more_slots,
    recomputations,
    without_temporaries,
)
from polysched.legality.repairs.repair_vector import (
    distributed,
    fewer_lanes,
    other_loops_or_wavefronts,
)
from polysched.legality.verdicts.verdict import Verdict
from polysched.schedule.core.program import Program
from polysched.schedule.primitives.parallel import Parallel
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.schedule import Schedule

DEFAULT_LIMIT = 3
"""Repairs to find."""
MOST_QUESTIONS = 60
"""Most strategies to run and candidates to judge, together, in one search."""
QUESTION_QUOTA = 2_000_000
"""isl operations to run one strategy or to judge one candidate."""

Strategy: TypeAlias = Callable[[Case], Sequence[Edit]]

STRATEGIES: tuple[Strategy, ...] = (
    shifts,
    skews,
    fewer_lanes,
    more_slots,
    recomputations,
    other_orders,
    fewer_tiled_loops,
    without_temporaries,
    copies_for_threads,
    copies_for_lanes,
    distributed,
    other_loops_or_wavefronts,
    unfused,
    free_reductions,
)
"""Repair strategies in the order of trial; each offers at most one repair."""


def repairs(
    schedule: Schedule,
    *,
    verdict: Verdict | None = None,
    limit: int = DEFAULT_LIMIT,
    seconds: float = DEFAULT_SECONDS,
) -> tuple[Repair, ...]:
    """Find changes that make an illegal schedule legal, in the order of :data:`STRATEGIES`.

    If no single change suffices, look for a second change that repairs the rest. If that finds
    nothing either, try to leave out the offending step. A schedule that is legal or unknown, or
    whose kernel is at fault, has no repairs.

    Args:
        verdict: the result of :func:`~polysched.legality.check.check`, if known.
        limit: the most repairs to find.
        seconds: processor time of the call; 0: no limit. The search for changes gets a tenth of it,
            and the search that leaves out the offending step another tenth. Each of the two is also
            limited by ``MOST_QUESTIONS``.

    Raises:
        ScheduleError: ``seconds`` is not a number or is negative.
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
    complete, partial = _tried(case, STRATEGIES, limit, budget)
    if not complete:
        complete = _continued(partial, STRATEGIES, limit, budget)
    if not complete:
        budget = _budget(seconds)
        complete, partial = _tried(case, (omissions,), 1, budget)
    if not complete:
        complete = _continued(partial, (*STRATEGIES, omissions), 1, budget)
    return tuple(complete)


def _continued(
    partial: list[Repair], strategies: tuple[Strategy, ...], limit: int, budget: Iterator[bool]
) -> list[Repair]:
    """Extend partial repairs by a second change each."""
    complete: list[Repair] = []
    for first in partial:
        if len(complete) >= limit or not next(budget, False):
            break
        rest = _case(first.schedule, check(first.schedule, quota=QUESTION_QUOTA))
        if rest is not None:
            second, _ = _tried(rest, strategies, limit - len(complete), budget)
            complete += [_joined(first, repair) for repair in second]
    return complete


def _case(schedule: Schedule, verdict: Verdict) -> Case | None:
    violation = verdict.violation
    if violation is None or violation.offending_step is None:
        return None
    return Case(schedule, violation, violation.offending_step.index)


def _budget(seconds: float) -> Iterator[bool]:
    """Yield True for each strategy or candidate that may still be tried."""
    end = time.thread_time() + seconds
    for _ in range(MOST_QUESTIONS):
        if time.thread_time() > end:
            return
        yield True


def _tried(
    case: Case, strategies: tuple[Strategy, ...], limit: int, budget: Iterator[bool]
) -> tuple[list[Repair], list[Repair]]:
    """Return complete repairs, at most one per strategy, and partial repairs.

    A partial repair makes the schedule legal up to the offending step, but not after it.
    """
    complete: list[Repair] = []
    partial: list[Repair] = []
    for strategy in strategies:
        if len(complete) >= limit or not next(budget, False):
            break
        repair, unfinished = _first_legal(case, _edits(strategy, case), budget)
        complete += [repair] if repair else []
        partial += [unfinished] if unfinished and not repair else []
    return complete, partial


def _edits(strategy: Strategy, case: Case) -> Sequence[Edit]:
    try:
        with operation_quota(QUESTION_QUOTA):
            return strategy(case)
    except (QuotaExceededError, ScheduleError, isl.Error):
        return ()


def _first_legal(
    case: Case, edits: Sequence[Edit], budget: Iterator[bool]
) -> tuple[Repair | None, Repair | None]:
    """Return the first edit that makes the schedule legal, and the first partial repair."""
    unfinished: Repair | None = None
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
        offending = case.index + len(changed.steps) - len(case.schedule.steps)
        freed = isinstance(edit, OrderEdit) and isinstance(case.step, Vectorize | Parallel)
        if unfinished is None and (freed or _keeps_order(changed.programs[offending + 1])):
            unfinished = repair
    return None, unfinished


def _keeps_order(program: Program) -> bool:
    """Whether the order is legal; rejects most candidates cheaply, because it finds no witness."""
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
