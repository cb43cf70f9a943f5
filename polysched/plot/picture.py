"""Compute the contents of a picture of a schedule, which :mod:`polysched.plot.draw` draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import islpy as isl

from polysched.errors import PlotError
from polysched.ir.core.tree import LoopKind, path
from polysched.ir.isl.budget import time_budget
from polysched.ir.isl.quota import QuotaExceededError, operation_quota
from polysched.legality.check import check
from polysched.legality.verdicts.verdict import Verdict
from polysched.plot.dimensions import (
    chosen_dimensions,
    chosen_statements,
    coordinate,
    require_dimensions,
    require_loops,
    tile_loops,
)
from polysched.plot.direct import Pairs, direct_pairs
from polysched.plot.instances import Instances, TooManyInstancesError, fixed_domain, instances
from polysched.plot.part import readable_part
from polysched.plot.sizes import chosen_sizes
from polysched.plot.symbols import Arrow, Dot, Mark, arrows, dots, marks
from polysched.plot.view import Color, Fixed, View, fixed_text
from polysched.schedule.core.program import Program
from polysched.schedule.schedule import Schedule

PLOT_QUOTA = 2_000_000
"""Limit on isl's operations for one picture."""

DOT_LIMIT = 10_000
ARROW_LIMIT = 1_000

Names: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Picture:
    """The contents of a picture.

    Attributes:
        statements: the statements shown, in the kernel's order.
        dimensions: the names of the axes, the horizontal axis first; if there is only one, each
            statement has a row of its own.
        parameters: the values of the parameters.
        fixed: the dimensions with fixed values or ranges of values.
        projected: indices that are projected out: instances that differ in them share a dot.
        color: the property that the color of a dot shows.
        tile: the tile loops.
        has_path: whether the dots are connected in execution order.
        dots: the dots, in execution order of the first instance of each.
        arrows: direct dependences, with duplicates merged.
        marks: the instances of the witness, the source first; empty without a witness to show.
        notes: one sentence about each omission of the picture.
    """

    kernel: str
    verdict: Verdict
    statements: Names
    dimensions: Names
    parameters: Mapping[str, int]
    fixed: Fixed
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
    """Compute the picture of a schedule, which need not be legal.

    Everything is exact: all instances at the given sizes are enumerated in the order of the final
    loop tree, and the arrows are the dependences that the checker uses. If there are too many
    instances, a part of the domain is shown, and the picture says which.

    Args:
        view: options of the picture; by default all statements in two dimensions.
        verdict: the checker's verdict, if already known.
    """
    if not isinstance(view, View | None):
        raise PlotError(f"the view is of type {type(view).__name__}; expected a View, or None")
    view = View() if view is None else view
    verdict = check(schedule) if verdict is None else verdict
    try:
        with operation_quota(PLOT_QUOTA):
            return _picture(schedule, view, verdict)
    except (QuotaExceededError, isl.Error) as error:
        names = view.statements or tuple(schedule.program.statements)
        advice = ways_to_shrink(names, tuple(schedule.kernel.parameters))
        raise PlotError(f"the picture takes too long: {error}; {advice}") from None


def _picture(schedule: Schedule, view: View, verdict: Verdict) -> Picture:
    program, violation = schedule.program, verdict.violation
    named = chosen_statements(program, view.statements)
    require_dimensions(program, named, tuple(view.at), "fixed dimension")
    require_loops(program, named, view.tile)
    dimensions = chosen_dimensions(program, named, view.dimensions, view.fixed, violation)
    shown, left_out = _parted(program, named, dimensions)
    tile = {name: view.tile or tile_loops(program, name) for name in shown}
    loops = tuple(dict.fromkeys(loop for name in shown for loop in tile[name]))
    if view.color is Color.TILE and not loops:
        raise PlotError(
            f"no tile loop around {_either(shown)}: split or tile a loop, or name the tile loops "
            "(tile=..., or --tile)"
        )
    sizes = chosen_sizes(program, shown, view.at, tile, view.sizes, violation)
    part_notes: Names = ()
    try:
        enumerated, placed, pairs = _shown(schedule, view, shown, dimensions, loops, sizes)
    except TooManyInstancesError as error:
        part = readable_part(program, shown, dimensions, view.at, sizes, violation)
        view = replace(view, at={**view.at, **part})
        enumerated, placed, pairs = _shown(schedule, view, shown, dimensions, loops, sizes)
        name, values = next(iter(part.items()))
        part_notes = (
            f"a part: {error}",
            f"another part: at={{'{name}': range({values.stop}, {values.stop + len(values)})}}, "
            f"or --at {name}={values.stop}:{values.stop + len(values)}",
        )
    if not placed:
        at = fixed_text({**sizes, **view.at})
        raise PlotError(f"no instance of {_either(shown)} to plot at {at}")
    is_kernel_fault = violation is not None and violation.in_kernel
    faulty = schedule.programs[0] if is_kernel_fault else program
    drawn, within = arrows(pairs, enumerated)
    marked, missing = marks(faulty, violation, enumerated, sizes)
    return Picture(
        kernel=schedule.kernel.name,
        verdict=verdict,
        statements=shown,
        dimensions=dimensions,
        parameters=sizes,
        fixed=dict(view.at),
        projected=_projected(program, placed, shown, (*dimensions, *view.fixed)),
        color=view.color,
        tile=loops,
        has_path=view.has_path,
        dots=placed,
        arrows=drawn[:ARROW_LIMIT],
        marks=marked,
        notes=(
            *part_notes,
            *left_out,
            *_parallel_notes(program, shown),
            *_arrow_notes(pairs, len(drawn), within),
            *missing,
        ),
    )


def _shown(
    schedule: Schedule,
    view: View,
    shown: Names,
    dimensions: Names,
    loops: Names,
    sizes: Mapping[str, int],
) -> tuple[tuple[Instances, ...], tuple[Dot, ...], tuple[Pairs, ...]]:
    """The instances in the picture, their dots, and the dependences between them."""
    enumerated = instances(schedule.program, shown, dimensions, view.at, loops, sizes)
    placed = dots(enumerated)
    if len(placed) > DOT_LIMIT:
        raise TooManyInstancesError(
            f"the whole picture has {len(placed):,} dots, of which {DOT_LIMIT:,} can be told apart"
        )
    return enumerated, placed, _pairs(schedule, view, shown, sizes)


def _parted(program: Program, named: Names, dimensions: Names) -> tuple[Names, Names]:
    """The statements that have all the dimensions, and a note on each of the others."""
    lacking = {
        name: next(axis for axis in dimensions if coordinate(program, name, axis) is None)
        for name in named
        if any(coordinate(program, name, axis) is None for axis in dimensions)
    }
    shown = tuple(name for name in named if name not in lacking)
    if not shown:
        raise PlotError(
            f"no statement has both dimensions {' and '.join(map(repr, dimensions))}: "
            + ", ".join(f"{name} has no '{axis}'" for name, axis in lacking.items())
        )
    return shown, tuple(
        f"statement {name} has no {axis} and is not shown" for name, axis in lacking.items()
    )


def _is_unchanged(schedule: Schedule, statement: str) -> bool:
    """Whether a statement has the same instances as in the declared kernel."""
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
        [
            dependence
            for dependence in schedule.programs[0].dependences
            if dependence.kind in view.arrows
        ],
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
    enclosing = [loop for name in shown for loop in path(program.tree, name)]
    names = dict.fromkeys(loop.name for loop in enclosing if loop.kind is LoopKind.PARALLEL)
    return tuple(f"loop {name} is parallel: its iterations may run in any order" for name in names)


def _arrow_notes(pairs: tuple[Pairs, ...], count: int, within: int) -> Names:
    uncertain = [group.dependence.array for group in pairs if group.dependence.may]
    notes = [
        f"arrows on {array} may hold or not: a subscript depends on data"
        for array in dict.fromkeys(uncertain)
    ]
    if count > ARROW_LIMIT:
        notes.append(f"the first {ARROW_LIMIT:,} of {count:,} arrows are shown")
    if within:
        plural = "dependences relate" if within > 1 else "dependence relates"
        notes.append(f"{within:,} {plural} instances within one dot")
    return tuple(notes)


def _either(names: Names) -> str:
    return " or ".join(f"'{name}'" for name in names)


def ways_to_shrink(shown: Sequence[str], parameters: Sequence[str]) -> str:
    """Suggest ways to make a picture smaller, as an imperative sentence.

    Args:
        shown: the statements in the picture.
    """
    ways = [f"use a smaller '{name}' (--size {name}=...)" for name in parameters[:1]]
    if len(shown) > 1:
        ways.append(f"show one statement (statements=('{shown[0]}',), or --statement {shown[0]})")
    return ", or ".join(ways) or "declare the kernel with smaller sizes"
