"""Repair of storage: no temporary, more slots of a folded array, or recomputation per tile."""

from __future__ import annotations

from dataclasses import replace

from polysched.ir.core.kernel import Role
from polysched.ir.expr.expressions import Constant
from polysched.ir.expr.linear import simplify
from polysched.legality.repairs.repair import Case, StepEdit, insert_before, replace_step
from polysched.schedule.primitives.compute_at import ComputeAt
from polysched.schedule.primitives.fold_storage import FoldStorage
from polysched.schedule.primitives.inline import Inline
from polysched.schedule.primitives.simplify import Simplify

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


def without_temporaries(case: Case) -> list[StepEdit]:
    """Propose ``simplify()`` first, if iterations share a temporary of the kernel, as C scalars."""
    kernel = case.schedule.kernel
    targets = {kernel.statements[end].target.array for end in case.ends if end in kernel.statements}
    is_shared = any(kernel.arrays[name].role is Role.TEMPORARY for name in targets)
    if not is_shared or isinstance(case.schedule.steps[0], Simplify | Inline):
        return []
    return [insert_before(case.schedule, 0, (Simplify(),))]


def recomputations(case: Case) -> list[StepEdit]:
    """Propose ``recompute=True`` for each compute_at up to the offending step, the last first."""
    return [
        replace_step(case.schedule, index, (replace(step, recompute=True),))
        for index, step in reversed(list(enumerate(case.schedule.steps[: case.index + 1])))
        if isinstance(step, ComputeAt) and not step.recompute
    ]
