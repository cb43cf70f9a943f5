"""The cheap test of a schedule under construction: steps fit, and dependences keep their order.

It is necessary, not sufficient: storage, bounds and threads are left to the checker, which judges
the finished schedule.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import islpy as isl

from polysched.errors import ScheduleError
from polysched.ir.core.tree import executed
from polysched.ir.isl.quota import QuotaExceededError, operation_quota
from polysched.legality.checks.order import demanded, keeps
from polysched.schedule.core.program import Program
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step

ORDER_QUOTA = 300_000
"""isl operations for one test of the order; a program that needs more counts as not legal."""

_Schedule = TypeVar("_Schedule", bound=Schedule)


def applied(schedule: _Schedule, steps: Iterable[Step]) -> _Schedule | None:
    """Apply steps; None if a step does not fit the program."""
    try:
        for step in steps:
            schedule = schedule.then(step)
    except ScheduleError:
        return None
    return schedule


def keeps_order(program: Program, statements: Iterable[str]) -> bool:
    """Whether a program keeps all dependences that have an end in one of some statements."""
    names = frozenset(statements)
    concerned = [
        dependence
        for dependence in demanded(program.dependences)
        if dependence.source.statement in names or dependence.sink.statement in names
    ]
    try:
        with operation_quota(ORDER_QUOTA):
            return keeps(executed(program.tree), concerned)
    except (QuotaExceededError, isl.Error):
        return False
