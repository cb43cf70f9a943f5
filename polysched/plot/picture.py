"""A picture of a schedule in numbers: what :mod:`polysched.plot.draw` draws, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import islpy as isl

from polysched.errors import PlotError
from polysched.ir.budget import time_budget
from polysched.ir.quota import QuotaExceededError, operation_quota
from polysched.ir.tree import LoopKind, path
from polysched.legality.check import check
from polysched.legality.verdict import Verdict
from polysched.plot.advice import ways_to_shrink
from polysched.plot.arrows import Arrow, arrows
from polysched.plot.dimensions import (
    chosen_dimensions,
    chosen_statements,
    coordinate,
    require_dimensions,
    require_loops,
    tile_loops,
)
from polysched.plot.direct import Pairs, direct_pairs
from polysched.plot.dots import Dot, dots
from polysched.plot.instances import TooManyInstancesError, fixed_domain, instances
from polysched.plot.marks import Mark, marks
from polysched.plot.sizes import chosen_sizes
from polysched.plot.view import Color, View
from polysched.schedule.program import Program
from polysched.schedule.schedule import Schedule

PLOT_QUOTA = 2_000_000
"""Operations of isl for one picture."""

DOT_LIMIT = 10_000
ARROW_LIMIT = 1_000

Names: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Picture:
    """What a picture shows.

    Attributes:
        kernel: the kernel's name.
        verdict: the answer of the checker.
        statements: those shown, in the kernel's order.
        dimensions: the names of the axes, the horizontal one first; if there is only one, the
            statements stand above each other.
        parameters: the sizes.
        fixed: dimensions at a value.
        projected: indices of the statements shown along which several instances are one dot.
        color: what the color of a dot tells.
        tile: the loops whose values make a tile.
        has_path: whether the dots are to be joined in the order of execution.
        dots: in the order in which the first instance of each runs.
        arrows: direct dependences, merged.
        marks: the instances of a witness, the source first; empty if there is none to be shown.
        notes: what the picture leaves out, in words.
    """

    kernel: str
    verdict: Verdict
    statements: Names
    dimensions: Names
    parameters: Mapping[str, int]
    fixed: Mapping[str, int]
    projected: Names
    color: Color
    tile: Names
    has_path: bool
    dots: tuple[Dot, ...]
    arrows: tuple[Arrow, ...]
    marks: tuple[Mark, ...]
    notes: Names


@time_budget()
def picture(
    schedule: Schedule, view: View | None = None, *, verdict: Verdict | None = None
) -> Picture:
    """What to show of a schedule, which need not be legal.

    Everything is exact: all instances at the given sizes are enumerated, their order is that of the
    final loop tree, and the arrows are dependences that the checker judges by.

    Args:
        view: what to show; by default all statements in two dimensions.
        verdict: the checker's answer if it is known already.

    Raises:
        PlotError: a name is unknown, or the domain is too large.
        CallError: the sizes violate the kernel's context.
    """
    if not isinstance(view, View | None):
        raise PlotError(f"the view is of type {type(view).__name__}; expected a View, or None")
    chosen = View() if view is None else view
    judged = check(schedule) if verdict is None else verdict
    try:
        with operation_quota(PLOT_QUOTA):
            return _picture(schedule, chosen, judged)
    except (QuotaExceededError, isl.Error) as error:
        names = chosen.statements or tuple(schedule.program.statements)
        advice = ways_to_shrink(schedule.program, names, schedule.kernel.parameters)
        raise PlotError(f"the picture takes too long: {error}; {advice}") from None


def _picture(schedule: Schedule, view: View, verdict: Verdict) -> Picture:
    program, violation = schedule.program, verdict.violation
    named = chosen_statements(program, view.statements)
    require_dimensions(program, named, tuple(view.at), "fixed dimension")
    require_loops(program, named, view.tile)
    dimensions = chosen_dimensions(program, named, view.dimensions, tuple(view.at), violation)
    shown, left_out = _parted(program, named, dimensions)
    tile = {name: view.tile or tile_loops(program, name) for name in shown}
    loops = tuple(dict.fromkeys(loop for name in shown for loop in tile[name]))
    if view.color is Color.TILE and not loops:
        raise PlotError(
            f"no loop over tiles around {_either(shown)}: split or tile a loop, or name the loops "
            "whose values make a tile"
        )
    sizes = chosen_sizes(program, shown, view.at, tile, view.sizes, violation)
    try:
        found = instances(program, shown, dimensions, view.at, loops, sizes)
        pairs = _pairs(schedule, view, shown, sizes)
    except TooManyInstancesError as error:
        advice = ways_to_shrink(program, shown, sizes, dimensions, view.at)
        raise PlotError(f"{error}; {advice}") from None
    placed = dots(found)
    if not placed:
        raise PlotError(f"no instance of {_either(shown)} to plot at {_said(sizes, view.at)}")
    if len(placed) > DOT_LIMIT:
        raise PlotError(
            f"the picture has {len(placed):,} dots; expected at most {DOT_LIMIT:,}: "
            f"{ways_to_shrink(program, shown, sizes)}"
        )
    judged = schedule.programs[0] if violation is not None and violation.in_kernel else program
    drawn, within = arrows(pairs, found)
    marked, missing = marks(judged, violation, found, sizes)
    return Picture(
        kernel=schedule.kernel.name,
        verdict=verdict,
        statements=shown,
        dimensions=dimensions,
        parameters=sizes,
        fixed=dict(view.at),
        projected=_projected(program, placed, shown, (*dimensions, *view.at)),
        color=view.color,
        tile=loops,
        has_path=view.has_path,
        dots=placed,
        arrows=drawn[:ARROW_LIMIT],
        marks=marked,
        notes=(
            *left_out,
            *_parallel_notes(program, shown),
            *_arrow_notes(pairs, len(drawn), within),
            *missing,
        ),
    )


def _parted(program: Program, named: Names, dimensions: Names) -> tuple[Names, Names]:
    """The statements that have all the dimensions, and a note on each of the others.

    Raises:
        PlotError: there is none.
    """
    lacking = {
        name: next(one for one in dimensions if coordinate(program, name, one) is None)
        for name in named
        if any(coordinate(program, name, one) is None for one in dimensions)
    }
    shown = tuple(name for name in named if name not in lacking)
    if not shown:
        raise PlotError(
            f"no statement has both dimensions {' and '.join(map(repr, dimensions))}: "
            + ", ".join(f"{name} has no '{one}'" for name, one in lacking.items())
        )
    return shown, tuple(
        f"statement {name} has no {one} and is not shown" for name, one in lacking.items()
    )


def _is_unchanged(schedule: Schedule, statement: str) -> bool:
    """Whether the instances of a statement are those of the kernel, and not a step's."""
    declared = schedule.kernel.statements.get(statement)
    present = schedule.program.statements[statement]
    return (
        declared is not None
        and declared.indices == present.indices
        and declared.domain.is_equal(present.domain)
    )


def _pairs(
    schedule: Schedule, view: View, shown: Names, sizes: Mapping[str, int]
) -> tuple[Pairs, ...]:
    program = schedule.program
    domains = {
        name: fixed_domain(program, name, view.at)
        for name in shown
        if _is_unchanged(schedule, name)
    }
    return direct_pairs(
        [one for one in schedule.programs[0].dependences if one.kind in view.arrows],
        schedule.kernel.body,
        schedule.kernel.statements,
        domains,
        sizes,
    )


def _projected(
    program: Program, placed: tuple[Dot, ...], shown: Names, kept: tuple[str, ...]
) -> Names:
    if all(dot.instances == 1 for dot in placed):
        return ()
    indices = [index for name in shown for index in program.statements[name].indices]
    return tuple(dict.fromkeys(index for index in indices if index not in kept))


def _parallel_notes(program: Program, shown: Names) -> Names:
    """A word on loops that run in parallel: the order shown is one of many."""
    around = [loop for name in shown for loop in path(program.tree, name)]
    names = dict.fromkeys(loop.name for loop in around if loop.kind is LoopKind.PARALLEL)
    return tuple(f"loop {name} is parallel: its iterations may run in any order" for name in names)


def _arrow_notes(pairs: tuple[Pairs, ...], count: int, within: int) -> Names:
    notes = [
        f"arrows on {array} may hold or not: a subscript depends on data"
        for array in dict.fromkeys(one.dependence.array for one in pairs if one.dependence.may)
    ]
    if count > ARROW_LIMIT:
        notes.append(f"the first {ARROW_LIMIT:,} of {count:,} arrows are shown")
    if within:
        plural = "dependences relate" if within > 1 else "dependence relates"
        notes.append(f"{within:,} {plural} instances within one dot")
    return tuple(notes)


def _either(names: Names) -> str:
    return " or ".join(f"'{name}'" for name in names)


def _said(sizes: Mapping[str, int], at: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in {**sizes, **at}.items())
