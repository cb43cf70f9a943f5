"""Repair by skewing: the loops of a nest are delayed until every order of them is legal.

A band of loops may be permuted and tiled when no dependence has a negative distance in any of its
loops (Wolf and Lam, "A data locality optimizing algorithm", PLDI 1991). A loop with negative
distances is skewed by an outer loop that carries the dependences to blame, by the smallest factor
that suffices.
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polysched.dependence.distance import distance
from polysched.ir.tree import Loop, LoopKind, path
from polysched.legality.repair import Case, StepEdit, insert_before
from polysched.legality.verdict import ViolationKind
from polysched.legality.within import CarriedDependence, dependences_within, loop_reference
from polysched.schedule.primitives import transform
from polysched.schedule.program import Program
from polysched.schedule.skew import Skew

LARGEST_FACTOR = 64
"""A skew by more than this would leave nothing of a tile."""


def skews(case: Case) -> list[StepEdit]:
    """Skews of the loops around the witness: before the guilty step, or before an earlier one.

    The later the better, and of several skews as few as needed, the outermost first.
    """
    if case.violation.what is not ViolationKind.ORDER:
        return []
    found: list[StepEdit] = []
    for index in range(case.index, -1, -1):
        steps = band_skews(case.schedule.programs[index], case.ends)
        found += [
            insert_before(case.schedule, index, steps[:count]) for count in range(1, len(steps) + 1)
        ]
    return found


def band_skews(program: Program, ends: tuple[str, ...]) -> tuple[Skew, ...]:
    """The skews that leave no negative distance in the loops around all of the given statements.

    A loop that no skew mends ends the band: nothing inside it is skewed.
    """
    steps: list[Skew] = []
    if not all(name in program.statements for name in ends):
        return ()
    for depth in range(1, len(common_loops(program, ends))):
        band = common_loops(program, ends)
        if any(loop.kind is not LoopKind.SEQUENTIAL for loop in band[: depth + 1]):
            break
        demands = [
            within
            for within in dependences_within(program, band[0])
            if not within.dependence.reorderable
            and {within.source, within.sink} <= band[depth].values.keys()
        ]
        if all(within.backward(band[depth]).is_empty() for within in demands):
            continue
        step = _skew(program, demands, band[:depth], band[depth])
        if step is None:
            break
        program = transform(program, step)
        steps.append(step)
    return tuple(steps)


def common_loops(program: Program, names: tuple[str, ...]) -> tuple[Loop, ...]:
    """The loops around all of the given statements, the outermost first."""
    others = [path(program.tree, name) for name in names[1:]]
    return tuple(
        loop
        for loop in path(program.tree, names[0])
        if all(any(loop is one for one in other) for other in others)
    )


def _skew(
    program: Program, demands: list[CarriedDependence], outer: tuple[Loop, ...], loop: Loop
) -> Skew | None:
    for by in outer:
        factor = skew_factor(demands, by, loop)
        if factor is not None:
            return Skew(loop_reference(program, loop), loop_reference(program, by), factor)
    return None


def skew_factor(demands: list[CarriedDependence], by: Loop, loop: Loop) -> int | None:
    """The smallest factor that leaves ``loop``, skewed by ``by``, without negative distances.

    Args:
        demands: dependences that have no negative distance in ``by``.
    """
    enough = 1
    for within in demands:
        backward = within.backward(loop)
        if backward.is_empty():
            continue
        source, sink = within.source, within.sink
        carried, _ = distance(backward, by.values[source], by.values[sink])
        lowest, _ = distance(backward, loop.values[source], loop.values[sink])
        if carried is None or carried < 1 or lowest is None or -lowest > LARGEST_FACTOR:
            return None
        enough = max(enough, -(lowest // carried))
    # A distance in `by` of at least `carried` every time: `enough` suffices, fewer may.
    least = 1
    while least < enough:
        middle = (least + enough) // 2
        if _is_forward(demands, by, loop, middle):
            enough = middle
        else:
            least = middle + 1
    return least if _is_forward(demands, by, loop, least) else None


def _is_forward(demands: list[CarriedDependence], by: Loop, loop: Loop, factor: int) -> bool:
    scale = isl.Val(factor)
    skewed = replace(
        loop,
        values={
            name: value.add(by.values[name].scale_val(scale)) for name, value in loop.values.items()
        },
    )
    return all(within.backward(skewed).is_empty() for within in demands)
