"""Repair by copies: give each iteration of a vector or parallel loop a copy of shared elements.

A reduction with the order policy ``any`` gets partial results (``rfactor``). A temporary array gets
a copy for each iteration (``promote`` for threads, ``privatize`` for lanes).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Role
from polysched.ir.core.tree import Leaf, Loop
from polysched.ir.expr.expressions import Constant
from polysched.legality.checks.carried import dependences_within
from polysched.legality.repairs.repair import Case, StepEdit, replace_step
from polysched.schedule.core.program import Program, base_name, find_loop, largest_extent
from polysched.schedule.primitives.parallel import Parallel
from polysched.schedule.primitives.privatize import Privatize
from polysched.schedule.primitives.promote import Promote
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.rfactor import Rfactor
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.primitives.vectorize_reduction import VectorizeReduction
from polysched.schedule.table import Step, transform

CHUNKS = 16
"""Number of partial results for threads if the trip count is a literal."""
CHUNK = 256
"""Iterations that share a partial result if the trip count is parametric."""


def copies_for_threads(case: Case) -> list[StepEdit]:
    """Propose partial results and copies for the iterations of an offending parallel loop.

    For a reduction, split the loop and run the chunks in parallel. The copies of a temporary live
    for one iteration (``promote``) or, as a second proposal, side by side (``privatize``).
    """
    step = case.step
    if not isinstance(step, Parallel):
        return []
    loop = find_loop(case.before, step.loop)
    extent = largest_extent(case.before, loop)
    factor = CHUNK if extent is None else -(-extent // CHUNKS)
    candidates: list[tuple[Step, ...]] = []
    for shared in _shared(case.before, loop):
        steps: tuple[Step, ...] = ()
        at = step.loop
        if shared.reductions and factor > 1:
            steps, at = (Split(step.loop, factor),), f"{step.loop}o"
        steps = (*steps, *(Rfactor(name, at) for name in shared.reductions))
        for copies in (Promote, Privatize):
            copy_steps = (copies(array, at) for array in shared.temporaries)
            candidates.append((*steps, *copy_steps, Parallel(at)))
    return [replace_step(case.schedule, case.index, steps) for steps in dict.fromkeys(candidates)]


def copies_for_lanes(case: Case) -> list[StepEdit]:
    """Propose a partial result and copies of temporaries per lane of an offending vector loop.

    A reduction alone in the loop is vectorized in one step. Otherwise split the loop, so that there
    are as many copies as lanes. For a reduction, move the lane loop outside of the loop over the
    vectors, so that each lane accumulates its own partial result.
    """
    step = case.step
    if not isinstance(step, Vectorize):
        return []
    edits = []
    loop = find_loop(case.before, step.loop)
    for shared in _shared(case.before, loop):
        if isinstance(loop.body, Leaf) and shared.reductions == (loop.body.statement,):
            alone = VectorizeReduction(loop.body.statement, base_name(step.loop), step.lanes)
            edits.append(replace_step(case.schedule, case.index, (alone,)))
        try:
            steps = _lanes_with_copies(case.before, step, shared)
        except ScheduleError:  # the steps do not fit this program
            continue
        edits.append(replace_step(case.schedule, case.index, steps))
    return edits


def _lanes_with_copies(program: Program, step: Vectorize, shared: _Shared) -> tuple[Step, ...]:
    outer, inner = f"{step.loop}o", f"{step.loop}i"
    assert step.lanes is not None  # Schedule.then has filled them in
    steps: list[Step] = [Split(step.loop, step.lanes)]
    if shared.reductions:
        steps.append(Reorder((inner, outer)))
    for order_step in steps:
        program = transform(program, order_step)
    copy_steps: list[Rfactor | Privatize] = [Rfactor(name, inner) for name in shared.reductions]
    copy_steps += [Privatize(array, inner) for array in shared.temporaries]
    for copies in copy_steps:
        beside = _side_by_side(program, copies)
        program = transform(program, beside)
        steps.append(beside)
    return (*steps, Vectorize(inner, step.lanes, step.into))


@dataclass(frozen=True)
class _Shared:
    """Reductions and arrays that iterations share and that get a copy for each iteration.

    Attributes:
        reductions: statements with the order policy ``any`` that get partial results.
        temporaries: arrays that get copies.
    """

    reductions: tuple[str, ...]
    temporaries: tuple[str, ...]


def _shared(program: Program, loop: Loop) -> tuple[_Shared, ...]:
    """Return the ways to remove the sharing between iterations; empty if there is none.

    A temporary that a reduction updates within one iteration needs copies. A temporary that a
    reduction updates across iterations needs partial results. Propose both, the copies first.
    """
    reductions: dict[str, str] = {}
    temporaries: dict[str, None] = {}
    for carried in dependences_within(program, loop):
        array = program.arrays[carried.dependence.array]
        if carried.apart(loop).is_empty():
            continue
        if carried.dependence.reorderable:
            reductions[carried.source] = array.name
        elif array.role is Role.TEMPORARY:
            temporaries[array.name] = None
    outside = tuple(name for name, array in reductions.items() if array not in temporaries)
    alone = tuple(array for array in temporaries if array not in reductions.values())
    ways = (_Shared(outside, tuple(temporaries)), _Shared(tuple(reductions), alone))
    return tuple(way for way in dict.fromkeys(ways) if way.reductions or way.temporaries)


def _side_by_side(program: Program, step: Rfactor | Privatize) -> Rfactor | Privatize:
    """Order the dimensions of a step so that the copies of one element are contiguous."""
    arrays = transform(program, step).arrays
    (expanded,) = (array for name, array in arrays.items() if name not in program.arrays)
    own, *elements = expanded.dimensions[expanded.tile :]
    if all(extent == Constant(1) for extent in expanded.stored_shape[1:]):
        return step
    return replace(step, order=(*elements, own))
