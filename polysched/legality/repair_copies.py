"""Repair by copies: what the iterations of a vector or parallel loop share, each gets for itself.

A reduction that is free in its order gets partial results (``rfactor``), a temporary array a copy
in every iteration (``promote`` for threads, ``privatize`` for lanes).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.errors import ScheduleError
from polysched.ir.expressions import Constant
from polysched.ir.kernel import Role
from polysched.ir.tree import Loop
from polysched.legality.repair import Case, StepEdit, replace_step
from polysched.legality.within import dependences_within
from polysched.schedule.parallel import Parallel
from polysched.schedule.primitives import Step, transform
from polysched.schedule.privatize import Privatize
from polysched.schedule.program import Program, find_loop, largest_extent
from polysched.schedule.promote import Promote
from polysched.schedule.reorder import Reorder
from polysched.schedule.rfactor import Rfactor
from polysched.schedule.split import Split
from polysched.schedule.vectorize import Vectorize

CHUNKS = 16
"""Partial results for threads, where the number of iterations is a literal."""
CHUNK = 256
"""Iterations that share a partial result where it is none."""


def copies_for_threads(case: Case) -> list[StepEdit]:
    """Partial results and copies for the iterations of a guilty parallel loop.

    For a reduction the loop is split, and chunks run in parallel. The copies of temporaries live
    for an iteration, or side by side where that is not enough.
    """
    step = case.step
    if not isinstance(step, Parallel):
        return []
    loop = find_loop(case.before, step.loop)
    extent = largest_extent(case.before, loop)
    factor = CHUNK if extent is None else -(-extent // CHUNKS)
    found: list[tuple[Step, ...]] = []
    for shared in _shared(case.before, loop):
        steps: tuple[Step, ...] = ()
        at = step.loop
        if shared.reductions and factor > 1:
            steps, at = (Split(step.loop, factor),), f"{step.loop}o"
        steps = (*steps, *(Rfactor(name, at) for name in shared.reductions))
        for copies in (Promote, Privatize):
            made = (copies(array, at) for array in shared.temporaries)
            found.append((*steps, *made, Parallel(at)))
    return [replace_step(case.schedule, case.index, steps) for steps in dict.fromkeys(found)]


def copies_for_lanes(case: Case) -> list[StepEdit]:
    """A vector of partial results, and of copies of temporaries, for a guilty vector loop.

    The loop is split, so that there are no more of them than lanes. For a reduction the lanes are
    put outside the loop over the vectors: each adds up its own share of all.
    """
    step = case.step
    if not isinstance(step, Vectorize):
        return []
    found = []
    for shared in _shared(case.before, find_loop(case.before, step.loop)):
        try:
            steps = _lanes_with_copies(case.before, step, shared)
        except ScheduleError:  # it does not fit this program
            continue
        found.append(replace_step(case.schedule, case.index, steps))
    return found


def _lanes_with_copies(program: Program, step: Vectorize, shared: _Shared) -> tuple[Step, ...]:
    outer, inner = f"{step.loop}o", f"{step.loop}i"
    steps: list[Step] = [Split(step.loop, step.lanes)]
    if shared.reductions:
        steps.append(Reorder((inner, outer)))
    for order_step in steps:
        program = transform(program, order_step)
    made: list[Rfactor | Privatize] = [Rfactor(name, inner) for name in shared.reductions]
    made += [Privatize(array, inner) for array in shared.temporaries]
    for copies in made:
        beside = _side_by_side(program, copies)
        program = transform(program, beside)
        steps.append(beside)
    return (*steps, Vectorize(inner, step.lanes, step.into))


@dataclass(frozen=True)
class _Shared:
    """What iterations share and each shall have for itself.

    Attributes:
        reductions: statements, free in their order, that get partial results.
        temporaries: arrays that get copies.
    """

    reductions: tuple[str, ...]
    temporaries: tuple[str, ...]


def _shared(program: Program, loop: Loop) -> tuple[_Shared, ...]:
    """The ways to share nothing; none if there is nothing to be done.

    A temporary in which a reduction adds up what belongs to one iteration gets copies; one in which
    it adds up over the iterations gets partial results. Both are proposed, the copies first.
    """
    reductions: dict[str, str] = {}
    temporaries: dict[str, None] = {}
    for within in dependences_within(program, loop):
        array = program.arrays[within.dependence.array]
        if within.apart(loop).is_empty():
            continue
        if within.dependence.reorderable:
            reductions[within.source] = array.name
        elif array.role is Role.TEMPORARY:
            temporaries[array.name] = None
    outside = tuple(name for name, array in reductions.items() if array not in temporaries)
    alone = tuple(array for array in temporaries if array not in reductions.values())
    ways = (_Shared(outside, tuple(temporaries)), _Shared(tuple(reductions), alone))
    return tuple(way for way in dict.fromkeys(ways) if way.reductions or way.temporaries)


def _side_by_side(program: Program, step: Rfactor | Privatize) -> Rfactor | Privatize:
    """The step in such an order of dimensions that the copies of one element lie together."""
    arrays = transform(program, step).arrays
    (made,) = (array for name, array in arrays.items() if name not in program.arrays)
    own, *elements = made.dimensions[made.tile :]
    if all(extent == Constant(1) for extent in made.stored_shape[1:]):
        return step
    return replace(step, order=(*elements, own))
