"""Repair of vector and parallel loops by a wavefront: skew, interchange, and run the inner loop.

In a nest of two loops that both carry a dependence, as in ``u[i, j] = u[i - 1, j] + u[i, j - 1]``,
the iterations of neither can run at once. After a skew the outer of the interchanged loops carries
all dependences (Lamport, "The parallel execution of DO loops", CACM 1974).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from polysched.ir.core.tree import Loop, LoopKind, path
from polysched.legality.checks.carried import loop_reference
from polysched.legality.repairs.repair import Case, StepEdit, replace_step
from polysched.legality.repairs.repair_vector import other_loops
from polysched.schedule.core.program import find_loop
from polysched.schedule.primitives.parallel import Parallel
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.primitives.vectorize import Vectorize

LARGEST_FACTOR = 3
"""Largest skew factor: neighbors up to two elements ahead in the row before."""


def other_loops_or_wavefronts(case: Case) -> list[StepEdit]:
    """Propose another loop around the witness; if none is legal, a wavefront."""
    return [*other_loops(case), *wavefronts(case)]


def wavefronts(case: Case) -> list[StepEdit]:
    """Propose to skew the offending loop and the loop next to it, and to interchange them."""
    step = case.step
    if not isinstance(step, Vectorize | Parallel) or case.ends[0] not in case.before.statements:
        return []
    chosen = find_loop(case.before, step.loop)
    pair = _nested_pair(path(case.before.tree, case.ends[0]), chosen)
    if pair is None:
        return []
    outer, inner = (loop_reference(case.before, loop) for loop in pair)
    return [
        replace_step(
            case.schedule,
            case.index,
            (Skew(inner, outer, factor), Reorder((inner, outer)), replace(step, loop=outer)),
        )
        for factor in range(1, LARGEST_FACTOR + 1)
    ]


def _nested_pair(around: tuple[Loop, ...], chosen: Loop) -> tuple[Loop, Loop] | None:
    """The loop and the one directly inside it, else the one directly around it and the loop."""
    pairs = [
        (outer, inner)
        for outer, inner in pairwise(around)
        if outer.body is inner
        and outer.kind is inner.kind is LoopKind.SEQUENTIAL
        and chosen in (outer, inner)
    ]
    return pairs[-1] if pairs else None
