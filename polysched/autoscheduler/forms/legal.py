"""The cheap test of a schedule under construction: steps fit, and dependences keep their order.

It is necessary, not sufficient: bounds and threads are left to the checker, which judges the
finished schedule.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from functools import partial
from typing import TypeVar

import islpy as isl

from polysched.errors import ScheduleError
from polysched.ir.core.tree import executed
from polysched.ir.isl.quota import QuotaExceededError, operation_quota
from polysched.ir.isl.shared_results import remembered
from polysched.legality.checks.order import demanded, keeps
from polysched.legality.checks.storage import UndecidedError, storage_violation
from polysched.schedule.core.program import Program
from polysched.schedule.primitives.simplify import Simplify
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step

ORDER_QUOTA = 300_000
"""isl operations for one test of the order; a program that needs more counts as not legal."""
DEPENDENCE_QUOTA = 3_000
"""The same for each dependence of a long program: 590 in lanes take 0.9 million."""

STEP_QUOTA = 500_000
"""isl operations for one step of a proposal; a step that needs more counts as not fitting.

The steps of the gallery, of ``bench/programs`` and of forty other functions take up to 250,000, and
`rfactor` of sums over windows with a parameter for the radius up to 1.2 million: 4 seconds each.
"""

_Schedule = TypeVar("_Schedule", bound=Schedule)


def applied(schedule: _Schedule, steps: Iterable[Step]) -> _Schedule | None:
    """Apply steps; None if a step does not fit the program."""
    for step in steps:
        changed = remembered(partial(_then, schedule, step), _then, (schedule,), step)
        if changed is None:
            return None
        schedule = changed
    return schedule


def _then(schedule: _Schedule, step: Step) -> _Schedule | None:
    # All of the program is simplified at once, in rounds that its own quota limits.
    quota = nullcontext() if isinstance(step, Simplify) else operation_quota(STEP_QUOTA)
    try:
        with quota:
            return schedule.then(step)
    except (ScheduleError, QuotaExceededError):
        return None


def keeps_buffers(program: Program) -> bool:
    """Whether the tiles of each buffer keep their values apart in the memory that they share."""
    if not any(array.tile for array in program.arrays.values()):
        return True
    try:
        with operation_quota(ORDER_QUOTA):
            return storage_violation(program, executed(program.tree)) is None
    except (QuotaExceededError, UndecidedError, isl.Error):
        return False


def keeps_order(
    program: Program, statements: Iterable[str], without: frozenset[str] = frozenset()
) -> bool:
    """Whether a program keeps all dependences that have an end in one of some statements.

    Args:
        without: arrays whose dependences do not count.
    """
    names = frozenset(statements)
    return remembered(
        partial(_keeps_order, program, names, without), keeps_order, (program,), (names, without)
    )


def _keeps_order(program: Program, names: frozenset[str], without: frozenset[str]) -> bool:
    concerned = [
        dependence
        for dependence in demanded(program.dependences)
        if (dependence.source.statement in names or dependence.sink.statement in names)
        and dependence.array not in without
    ]
    try:
        with operation_quota(max(ORDER_QUOTA, DEPENDENCE_QUOTA * len(concerned))):
            return keeps(executed(program.tree), concerned)
    except (QuotaExceededError, isl.Error):
        return False
