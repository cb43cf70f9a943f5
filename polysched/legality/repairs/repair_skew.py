"""Repair by skewing: make a band of loops fully permutable.

A band of loops may be permuted and tiled if no dependence has a negative distance in any of its
loops (Wolf and Lam, "A data locality optimizing algorithm", PLDI 1991). A loop with negative
distances is skewed, by the smallest sufficient factor, by an outer loop that carries these
dependences.
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polysched.dependence.distance import distance
from polysched.ir.core.tree import Loop, LoopKind, path
from polysched.legality.checks.carried import CarriedDependence, dependences_within, loop_reference
from polysched.legality.repairs.repair import Case, StepEdit, insert_before
from polysched.legality.verdicts.verdict import ViolationKind
from polysched.schedule.core.program import Program
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.table import transform

LARGEST_FACTOR = 64
"""Largest skew factor; a larger one would skew a tile beyond its own size."""


def skews(case: Case) -> list[StepEdit]:
    """Propose skews of the loops around the witness, before the offending step or an earlier step.

    Later positions come first. At each position, fewer skews come first, outermost loops first.
    """
    if case.violation.kind is not ViolationKind.ORDER:
        return []
    edits: list[StepEdit] = []
    for index in range(case.index, -1, -1):
        steps = band_skews(case.schedule.programs[index], case.ends)
        edits += [
            insert_before(case.schedule, index, steps[:count]) for count in range(1, len(steps) + 1)
        ]
    return edits


def band_skews(program: Program, ends: tuple[str, ...]) -> tuple[Skew, ...]:
    """Compute skews that leave no negative distance in the common loops of the given statements.

    If no skew suffices for a loop, the band ends there: no loop inside it is skewed.
    """
    steps: list[Skew] = []
    if not all(name in program.statements for name in ends):
        return ()
    for depth in range(1, len(common_loops(program, ends))):
        band = common_loops(program, ends)
        if any(loop.kind is not LoopKind.SEQUENTIAL for loop in band[: depth + 1]):
            break
        demands = [
            carried
            for carried in dependences_within(program, band[0])
            if not carried.dependence.reorderable
            and {carried.source, carried.sink} <= band[depth].values.keys()
        ]
        if all(carried.backward(band[depth]).is_empty() for carried in demands):
            continue
        step = _skew(program, demands, band[:depth], band[depth])
        if step is None:
            break
        program = transform(program, step)
        steps.append(step)
    return tuple(steps)


def common_loops(program: Program, names: tuple[str, ...]) -> tuple[Loop, ...]:
    """Return the loops around all of the given statements, the outermost first."""
    others = [path(program.tree, name) for name in names[1:]]
    return tuple(
        loop
        for loop in path(program.tree, names[0])
        if all(any(loop is other for other in around) for around in others)
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
    """Compute the smallest factor for which skewing ``loop`` by ``by`` leaves no negative distance.

    Args:
        demands: dependences without a negative distance in ``by``.

    Returns:
        The factor; None if no factor suffices or :data:`LARGEST_FACTOR` may be exceeded.
    """
    sufficient = 1
    for dependence in demands:
        backward = dependence.backward(loop)
        if backward.is_empty():
            continue
        source, sink = dependence.source, dependence.sink
        carried, _ = distance(backward, by.values[source], by.values[sink])
        lowest, _ = distance(backward, loop.values[source], loop.values[sink])
        if carried is None or carried < 1 or lowest is None or -lowest > LARGEST_FACTOR:
            return None
        sufficient = max(sufficient, -(lowest // carried))
    # `sufficient` combines the worst distances of different pairs, so a smaller factor may do.
    least = 1
    while least < sufficient:
        middle = (least + sufficient) // 2
        if _is_forward(demands, by, loop, middle):
            sufficient = middle
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
    return all(dependence.backward(skewed).is_empty() for dependence in demands)
