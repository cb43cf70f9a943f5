"""Wavefronts of tiles: threads share the tiles of a diagonal.

Two loops that both carry dependences have no independent iterations. If they may be permuted, tiles
on a diagonal are independent (Lamport, "The parallel execution of DO loops", CACM 1974)::

    for a: for b: S              for w in 0..A + B:  parallel ao: for ai, bi: S   (bo = w - ao)

The tiles of a time-tiled stencil, of a factorization and of a table of dynamic programming form
such diagonals. Each diagonal is a parallel region, so tiles must have enough work.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from polysched.autoscheduler.cost.program import program_costs
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.forms.candidate import Candidate, Decision
from polysched.autoscheduler.forms.legal import applied, keeps_buffers, keeps_order
from polysched.autoscheduler.forms.nests import fresh_names
from polysched.autoscheduler.proof import keeps_full_tiles
from polysched.autoscheduler.search import Context
from polysched.autoscheduler.threads.costs import (
    least_shared,
    moved_cycles,
    scaled,
    with_least_caches,
)
from polysched.autoscheduler.threads.work import SharedForm, Work
from polysched.ir.core.tree import Loop
from polysched.schedule.primitives.parallel import Parallel
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.primitives.split import Split
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step

FACTORS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
"""Iterations of each loop in a tile."""
NEAR_LEAST = 1.15
"""Shapes within this factor of the least cost of tiles and regions are compared by traffic."""
COMPARED_SHAPES = 8
"""Most shapes whose traffic is predicted, those with fewer splits first."""
SPLIT_GAIN = 0.97
"""A further split must save this much: it makes the bounds of all loops inside more complex."""
ALIKE = 1.02
"""Shapes within this factor of the least predicted cycles are alike.

On Zen 4 a stencil of 200^3 doubles gains 1.43 with tiles of 4 time steps and 1.51 with 8, which are
predicted 1 % apart.
"""
INNER_GAIN = 0.9
"""The same for an inner pair of loops: it has regions for each iteration around it."""


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two neighboring loops, and the shapes of their tiles with the predicted cycles of the nest.

    Attributes:
        shapes: cycles and factors, those with fewer splits first.
        least: the cycles of the cheapest shape.
    """

    outer: Loop
    inner: Loop
    shapes: tuple[tuple[float, tuple[int, int]], ...]
    least: float


def wavefronts(candidate: Candidate, work: Work, context: Context) -> Iterator[SharedForm]:
    """Yield the nest with a wavefront over two neighboring loops of its chain."""
    outside = work.entries
    pairs: list[_Pair] = []
    for outer, inner in pairwise(work.chain()):
        if not (outer.is_plain and inner.is_plain):
            break
        pair = _pair(work, outer, inner, outside, context)
        pairs += [] if pair is None else [pair]
        outside *= max(1.0, work.loop_facts(outer).trip)
    if pairs:
        least = min(pair.least for pair in pairs)
        yield SharedForm(least, lambda: _made(candidate, work, pairs, context))


def _made(
    candidate: Candidate, work: Work, pairs: Sequence[_Pair], context: Context
) -> Candidate | None:
    """Return the candidate with the cheapest legal wavefront, whose full tiles stay apart.

    Only for one of them loops are generated, which may take seconds of isl's time.
    """
    best: Candidate | None = None
    for pair in pairs:
        most = math.inf if best is None else INNER_GAIN * best.cycles
        if candidate.cycles - work.cycles + pair.least < most:
            made = _best_shape(candidate, work, pair, context)
            if made is not None and made.cycles < most:
                best = made
    if best is None or not keeps_full_tiles(candidate.schedule, best.schedule):
        return None
    return best


def _pair(work: Work, outer: Loop, inner: Loop, entries: float, context: Context) -> _Pair | None:
    """Return two loops with the tile shapes that may gain; None if no shape does."""
    facts = [work.loop_facts(outer), work.loop_facts(inner)]
    trips = [statement.trip for statement in facts]
    is_triangle = outer.name in facts[1].bounded_by and not facts[1].is_constant
    shapes = [
        (cycles, factors)
        for factors in product(FACTORS, FACTORS)
        if all(f == 1 or 2 * f <= trip for f, trip in zip(factors, trips, strict=True))
        for cycles in [_cycles(work, trips, factors, entries, context, is_triangle=is_triangle)]
        if cycles is not None
    ]
    if not shapes:
        return None
    least, _ = min(shapes)
    near = [shape for shape in shapes if shape[0] <= NEAR_LEAST * least]
    near.sort(key=lambda shape: (_splits(shape[1]), shape))
    return _Pair(outer, inner, tuple(near[:COMPARED_SHAPES]), least)


def _splits(factors: tuple[int, int]) -> int:
    return sum(factor > 1 for factor in factors)


def _cycles(
    work: Work,
    trips: list[float],
    factors: tuple[int, int],
    entries: float,
    context: Context,
    *,
    is_triangle: bool,
) -> float | None:
    """Predict the cycles of a wavefront; None if its tiles are too small or too few."""
    threads, machine_costs = context.threads, context.machine.costs
    counts = [math.ceil(trip / factor - 1e-9) for trip, factor in zip(trips, factors, strict=True)]
    tiles = math.prod(counts)
    # The inner loop of a triangle has twice its average trip count at most.
    diagonals = counts[0] + (2 if is_triangle else 1) * counts[1]
    if min(counts) < threads or work.cycles / entries / diagonals < machine_costs.shared_loop:
        return None
    # On average, half of the threads find no tile at the end of a diagonal.
    rounds = tiles / threads + diagonals * (threads - 1) / (2 * threads)
    together = least_shared(work.costs, threads, context.machine)
    return together * rounds * threads / tiles + entries * diagonals * machine_costs.parallel_region


def _best_shape(
    candidate: Candidate, work: Work, pair: _Pair, context: Context
) -> Candidate | None:
    """Return the candidate with the cheapest shape; None if the wavefront is not legal."""
    made: list[tuple[Candidate, tuple[int, int]]] = []
    before = _cycles_in_order(candidate.schedule, work, context)
    for cycles, factors in pair.shapes:
        shaped = _shaped(candidate, work, pair, factors, cycles, before, context)
        if shaped is None:
            return None
        # Whether the order is legal hardly depends on the factors.
        if not made and not (
            keeps_order(shaped.schedule.program, work.statements)
            and keeps_buffers(shaped.schedule.program)
        ):
            return None
        made.append((shaped, factors))
    return _best(made)


def _best(made: Sequence[tuple[Candidate, tuple[int, int]]]) -> Candidate:
    """Return the cheapest candidate.

    Among nearly equal ones, fewer splits win, and then larger tiles: they have fewer regions.
    """
    costs = [candidate.cycles / SPLIT_GAIN ** _splits(factors) for candidate, factors in made]
    near = [
        (math.prod(factors), -cost, candidate)
        for cost, (candidate, factors) in zip(costs, made, strict=True)
        if cost <= ALIKE * min(costs)
    ]
    return max(near, key=lambda shape: shape[:2])[2]


def _shaped(
    candidate: Candidate,
    work: Work,
    pair: _Pair,
    factors: tuple[int, int],
    cycles: float,
    before: float,
    context: Context,
) -> Candidate | None:
    """Apply the steps of a wavefront, and predict its cost with the traffic of its order.

    Args:
        cycles: of the regions and of threads that wait, if the order changed no traffic.
        before: the cycles of the order on one thread.
    """
    program = candidate.schedule.program
    loops = (pair.outer, pair.inner)
    first = pair.outer.statements[0]
    wanted = [f"{loop.name}{end}" for loop in loops for end in "tp"]
    names = fresh_names(program, work.around[0] if work.around else work.loop, *wanted, "wave")
    steps: list[Step] = []
    tiles, points = [loop.name for loop in loops], []
    for at, factor in enumerate(factors):
        if factor > 1:
            tile, point = names[2 * at : 2 * at + 2]
            steps.append(Split(f"{first}.{tiles[at]}", factor, (tile, point)))
            tiles[at] = tile
            points.append(point)
    if factors[0] > 1:
        steps.append(Reorder(tuple(f"{first}.{name}" for name in (*tiles, *points))))
    outer, inner = (f"{first}.{name}" for name in tiles)
    steps += [
        Skew(inner, outer, 1, names[-1]),
        Reorder((f"{first}.{names[-1]}", outer)),
        Parallel(outer),
    ]
    schedule = applied(candidate.schedule, steps)
    if schedule is None:
        return None
    slowed = _cycles_in_order(schedule, work, context) / before
    facts = [statement_facts(schedule.program, name, context.sizes) for name in work.statements]
    depth = [loop.name for loop in facts[0].loops].index(names[-1]) + 1
    regions = math.prod(loop.trip for loop in facts[0].loops[:depth])
    written = work.written(program)
    moved = moved_cycles(facts, depth, regions, written, context.threads, context.machine)
    shape = " by ".join(map(str, factors))
    reason = (
        f"{context.threads} threads share the tiles of a diagonal, {shape} iterations of "
        f"{pair.outer.name}, {pair.inner.name} each: both loops carry dependences"
    )
    return candidate.with_decision(
        schedule,
        Decision(tuple(steps), work.statements, reason),
        scaled(candidate.costs, work.statements, slowed * cycles + moved),
    )


def _cycles_in_order(schedule: Schedule, work: Work, context: Context) -> float:
    """Predict the cycles of an order on one thread, with all of the caches and with the least part.

    The contents of a shared cache are uncertain, so an order that fits either way is better.
    """
    return sum(
        cost.cycles
        for machine in (context.machine, with_least_caches(context.machine))
        for cost in program_costs(
            schedule.program, work.statements, machine, context.sizes
        ).values()
    )
