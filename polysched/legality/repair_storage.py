"""Repair of storage: more slots for a folded array, a producer computed again in every tile."""

from __future__ import annotations

from dataclasses import replace

from polysched.ir.expressions import Constant
from polysched.ir.linear import simplify
from polysched.legality.repair import Case, StepEdit, replace_step
from polysched.schedule.compute_at import ComputeAt
from polysched.schedule.fold_storage import FoldStorage

ONE_BY_ONE = 8
"""Sizes that are tried in single steps; after that they double."""
LARGEST_TRIED = 256


def more_slots(case: Case) -> list[StepEdit]:
    """The folded dimension with one slot more, two more, and so on up to its extent."""
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
    """Each producer that was moved to its first use computed again at every use, the last first."""
    return [
        replace_step(case.schedule, index, (replace(step, recompute=True),))
        for index, step in reversed(list(enumerate(case.schedule.steps[: case.index + 1])))
        if isinstance(step, ComputeAt) and not step.recompute
    ]
