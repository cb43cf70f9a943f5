"""Find the temporaries of which each iteration of a loop may have its own copy.

A scalar of a C loop body, or a temporary that a Python loop overwrites, is one place in memory, so
its dependences forbid threads, vectors and permutations. They say little about the program: a copy
for each iteration removes them.
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Role
from polysched.ir.isl.quota import QuotaExceededError, operation_quota
from polysched.legality.reports.loop_properties import QUESTION_QUOTA, LoopReport
from polysched.schedule.core.program import Program
from polysched.schedule.primitives.privatize import Privatize, privatize


def with_private_copies(program: Program, report: LoopReport) -> LoopReport:
    """Name the temporaries among the obstacles of a loop that `privatize` accepts there."""
    obstacles = [*(report.serial or ()), *(report.scalar or ()), *(report.ordered or ())]
    temporaries = dict.fromkeys(
        obstacle.array
        for obstacle in obstacles
        if program.arrays[obstacle.array].role is Role.TEMPORARY
        and not (obstacle.shared_byte or obstacle.shared_memory)
    )
    private = tuple(name for name in temporaries if _may_be_private(program, name, report.loop))
    return replace(report, private=private)


def _may_be_private(program: Program, array: str, loop: str) -> bool:
    try:
        with operation_quota(QUESTION_QUOTA):
            privatize(program, Privatize(array, loop))
    except (ScheduleError, QuotaExceededError, isl.Error):
        return False
    return True
