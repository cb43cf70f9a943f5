"""Format loop reports as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from polysched.dependence.distance import format_distances
from polysched.ir.core.tree import LoopKind
from polysched.legality.reports.loop_properties import LoopReport, Obstacle

FREE_THE_ORDER = (
    "a floating-point reduction keeps its order; --fast-math of C files, fastmath=True of ps.jit "
    "or order='any' of ps.kernel or its statement frees it, for vectors and threads along its loop"
)
"""Advice on obstacles that are ``kept``."""

SHOWN = 2
"""Obstacles shown for one property; the rest are counted."""


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
    text = "".join(f"{line}\n" for report in reports for line in _lines(report))
    return f"{text}hint: {FREE_THE_ORDER}\n" if keeps_order(reports) else text


def keeps_order(reports: Iterable[LoopReport]) -> bool:
    """Whether a reduction that keeps its order stands in the way of vectors or threads."""
    return any(
        obstacle.kept
        for report in reports
        for obstacle in (*(report.serial or ()), *(report.scalar or ()))
    )


def _lines(report: LoopReport) -> Iterator[str]:
    indent = "  " * report.depth
    for line in (
        f"{report.kind.value} {report.loop}: {', '.join(report.statements)}",
        *_parallel_lines(report),
        *_vector_lines(report),
        *_permutation_lines(report),
    ):
        yield f"{indent}{line}"


def _parallel_lines(report: LoopReport) -> Iterator[str]:
    if report.kind is not LoopKind.VECTOR:
        yield f"  parallel: {_yes_or_no(report.serial)}"
        yield from _shown(report.serial)


def _vector_lines(report: LoopReport) -> Iterator[str]:
    if report.lanes is None:
        return
    some = report.scalar and report.lanes > 1
    answer = f"up to {report.lanes} lanes" if some else _yes_or_no(report.scalar)
    yield f"  vector: {answer}"
    yield from _shown(report.scalar)


def _permutation_lines(report: LoopReport) -> Iterator[str]:
    if report.inner is not None:
        yield f"  permutable with {report.inner}: {_yes_or_no(report.ordered)}"
        yield from _shown(report.ordered)


def _yes_or_no(obstacles: tuple[Obstacle, ...] | None) -> str:
    if obstacles is None:
        return "unknown: isl could not decide it within its quota"
    return "no" if obstacles else "yes"


def _shown(obstacles: tuple[Obstacle, ...] | None) -> Iterator[str]:
    if obstacles is None:
        return
    for obstacle in obstacles[:SHOWN]:
        yield f"    {format_obstacle(obstacle)}"
    if len(obstacles) > SHOWN:
        yield f"    and {len(obstacles) - SHOWN} more"


def format_obstacle(obstacle: Obstacle) -> str:
    """Format an obstacle, ``flow on A from S to T, distance (1, -1)``."""
    free = " (a reduction, free in its order)" if obstacle.reduction else ""
    if obstacle.kept:
        free = " (a reduction that keeps its order)"
    may = "may " if obstacle.may else ""
    if obstacle.shared_byte:
        return (
            f"one byte of {obstacle.array} for {obstacle.source} and {obstacle.sink}, "
            f"{format_distances(obstacle.distances)}"
        )
    if obstacle.shared_memory:
        return (
            f"one place in memory of {obstacle.array} for {obstacle.source} and {obstacle.sink}, "
            f"{format_distances(obstacle.distances)}"
        )
    return (
        f"{may}{obstacle.kind.value} on {obstacle.array} from {obstacle.source} to {obstacle.sink}"
        f"{free}, {format_distances(obstacle.distances)}"
    )
