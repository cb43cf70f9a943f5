"""Format loop reports as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import islpy as isl

from polysched.dependence.distance import format_distances
from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Role
from polysched.ir.core.tree import LoopKind
from polysched.ir.isl.budget import DEFAULT_SECONDS, time_budget
from polysched.ir.isl.quota import QuotaExceededError, operation_quota
from polysched.legality.reports.loop_properties import (
    QUESTION_QUOTA,
    LoopReport,
    Obstacle,
    explain_loops,
)
from polysched.schedule.core.program import Program
from polysched.schedule.primitives.privatize import Privatize, privatize
from polysched.schedule.schedule import Schedule

FREE_THE_ORDER = (
    "a floating-point reduction keeps its order; --fast-math of C files, fastmath=True of ps.jit "
    "or order='any' of ps.kernel or its statement frees it, for vectors and threads along its loop"
)
"""Advice on obstacles that are ``kept``."""

MAY = "'may': a subscript depends on data, so two iterations may touch the same element"
"""Explanation of obstacles of which only the data tell whether they exist."""

MAKE_COPIES = (
    "{step} or promote makes private copies, simplify() computes short values where they are "
    "read; --auto, 'optimize' and ps.jit do so where it gains"
)
"""Advice on temporaries of which each iteration may have a copy."""

PARTIAL_RESULTS = (
    "vectorize_reduction('{0}', '{1}') gives each lane a partial result of '{0}', and rfactor each "
    "thread"
)
"""Advice on a loop in whose way stands only a reduction whose order is free."""

SHOWN = 2
"""Obstacles shown for one property; the rest are counted."""


def explained(schedule: Schedule, *, seconds: float = DEFAULT_SECONDS) -> tuple[LoopReport, ...]:
    """Report every loop of a schedule as `explain_loops`, with the temporaries to privatize."""
    with time_budget(seconds):
        reports = explain_loops(schedule, seconds=seconds)
        return tuple(_with_private_copies(schedule.program, report) for report in reports)


def format_loop_reports(reports: tuple[LoopReport, ...]) -> str:
    """Format the reports, one paragraph for each loop, inner loops indented.

    ::

        for i: S
          parallel: no
            flow on A from S to S, distance 1
          vector: no
            flow on A from S to S, distance 1
          permutable with j: yes
    """
    lines = [line for report in reports for line in _lines(report)]
    if keeps_order(reports):
        lines.append(f"hint: {FREE_THE_ORDER}")
    if any(obstacle.may for obstacle in _obstacles(reports)):
        lines.append(f"hint: {MAY}")
    if steps := [f"privatize('{r.private[0]}', at='{r.loop}')" for r in reports if _gain(r)]:
        lines.append(f"hint: {MAKE_COPIES.format(step=steps[-1])}")
    lines += [f"hint: {PARTIAL_RESULTS.format(*sums)}" for sums in _sums(reports)][:1]
    return "".join(f"{line}\n" for line in lines)


def _gain(report: LoopReport) -> bool:
    """Whether private copies remove all obstacles of a property of a loop."""
    return any(
        obstacles and all(obstacle.array in report.private for obstacle in obstacles)
        for obstacles in (report.serial, report.scalar, report.ordered)
    )


def _sums(reports: Iterable[LoopReport]) -> Iterator[tuple[str, str]]:
    """The reductions that alone keep their loop from being a vector, each with its loop."""
    for report in reports:
        left = [
            obstacle for obstacle in report.scalar or () if obstacle.array not in report.private
        ]
        is_alone = len(report.statements) == 1 and report.inner is None
        if left and is_alone and all(obstacle.reduction for obstacle in left):
            yield report.statements[0], report.loop.rpartition(".")[2]


def keeps_order(reports: Iterable[LoopReport]) -> bool:
    """Whether a reduction that keeps its order stands in the way of vectors or threads."""
    return any(obstacle.kept for obstacle in _obstacles(reports))


def _obstacles(reports: Iterable[LoopReport]) -> Iterator[Obstacle]:
    for report in reports:
        yield from (*(report.serial or ()), *(report.scalar or ()))


def _lines(report: LoopReport) -> list[str]:
    lines = [f"{report.kind.value} {report.loop}: {', '.join(report.statements)}"]
    if report.kind is not LoopKind.VECTOR:
        lines += _answer("parallel", report.serial, report.private)
    if report.lanes is not None:
        no = f"up to {report.lanes} lanes" if report.lanes > 1 else "no"
        lines += _answer("vector", report.scalar, report.private, no)
    if report.inner is not None:
        lines += _answer(f"permutable with {report.inner}", report.ordered, report.private)
    return [f"{'  ' * report.depth}{line}" for line in lines]


def _answer(
    question: str, obstacles: tuple[Obstacle, ...] | None, private: tuple[str, ...], no: str = "no"
) -> Iterator[str]:
    """The answer to a question, and the obstacles that private copies do not remove."""
    if obstacles is None:
        yield f"  {question}: unknown: isl could not decide it within its quota"
        return
    left = [obstacle for obstacle in obstacles if obstacle.array not in private]
    removed = tuple(
        dict.fromkeys(obstacle.array for obstacle in obstacles if obstacle.array in private)
    )
    copies = f" with private copies of {', '.join(removed)}" if removed else ""
    yield (
        f"  {question}: {no}{', also' if copies else ''}{copies}"
        if left
        else (f"  {question}: yes{',' if copies else ''}{copies}")
    )
    for obstacle in left[:SHOWN]:
        yield f"    {format_obstacle(obstacle)}"
    if len(left) > SHOWN:
        yield f"    and {len(left) - SHOWN} more"


def format_obstacle(obstacle: Obstacle) -> str:
    """Format an obstacle, ``flow on A from S to T, distance (1, -1)``."""
    conflict = "one byte" if obstacle.shared_byte else "one place in memory"
    if obstacle.shared_byte or obstacle.shared_memory:
        text = f"{conflict} of {obstacle.array} for {obstacle.source} and {obstacle.sink}"
    else:
        free = " (a reduction, free in its order)" if obstacle.reduction else ""
        text = (
            f"{'may ' if obstacle.may else ''}{obstacle.kind.value} on {obstacle.array} from "
            f"{obstacle.source} to {obstacle.sink}"
            f"{' (a reduction that keeps its order)' if obstacle.kept else free}"
        )
    return f"{text}, {format_distances(obstacle.distances)}"


def _with_private_copies(program: Program, report: LoopReport) -> LoopReport:
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
