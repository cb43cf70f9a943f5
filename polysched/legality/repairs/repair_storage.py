"""Repair of storage: more slots for a folded array, or recomputation of a producer per tile."""

from __future__ import annotations

from dataclasses import replace

from polysched.ir.expr.expressions import Constant
from polysched.ir.expr.linear import simplify
from polysched.legality.repairs.repair import Case, StepEdit, replace_step
from polysched.schedule.primitives.compute_at import ComputeAt
from polysched.schedule.primitives.fold_storage import FoldStorage

ONE_BY_ONE = 8
"""Number of sizes to try in steps of one; larger sizes double."""
LARGEST_TRIED = 256
"""Sizes double until they reach this; also the largest size if the extent is parametric."""


def more_slots(case: Case) -> list[StepEdit]:
    """Propose more slots for an offending fold_storage: one more, two more, up to the extent."""
    step = case.step
    if not isinstance(step, FoldStorage):
        return []
    array = case.before.arrays[step.array]
    extent = simplify(array.shape[array.dimensions.index(step.dimension)], {})
    largest = int(extent.value) - 1 if isinstance(extent, Constant) else LARGEST_TRIED
    sizes = list(range(step.size + 1, step.size + 1 + ONE_BY_ONE))
    while sizes[-1] < LARGEST_TRIED:
        sizes.append(2 * sizes[-1])
    return [
        replace_step(case.schedule, case.index, (replace(step, size=size),))
        for size in sizes
        if size <= largest
    ]


def recomputations(case: Case) -> list[StepEdit]:
    """Propose ``recompute=True`` for each compute_at up to the offending step, the last first."""
    return [
        replace_step(case.schedule, index, (replace(step, recompute=True),))
        for index, step in reversed(list(enumerate(case.schedule.steps[: case.index + 1])))
        if isinstance(step, ComputeAt) and not step.recompute
    ]
