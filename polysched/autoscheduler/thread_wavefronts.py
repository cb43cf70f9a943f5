"""Wavefronts of tiles: threads share the tiles of a diagonal.

Two loops that both carry dependences have no independent iterations. If they may be permuted, tiles
on a diagonal are independent (Lamport, "The parallel execution of DO loops", CACM 1974)::

    for a: for b: S              for w in 0..A + B:  parallel ao: for ai, bi: S   (bo = w - ao)

The tiles of a time-tiled stencil, of a factorization and of a table of dynamic programming form
such diagonals. Each diagonal is a parallel region, so tiles must have enough work.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise, product

from polysched.autoscheduler.candidate import Candidate, Decision
from polysched.autoscheduler.legal import applied, keeps_buffers, keeps_order
from polysched.autoscheduler.nests import fresh_names
from polysched.autoscheduler.search import Context
from polysched.autoscheduler.thread_costs import (
    LEAST_REGION,
    REGION_CYCLES,
    least_shared,
    scaled,
)
from polysched.autoscheduler.thread_work import SharedForm, Work
from polysched.ir.core.tree import Loop, LoopKind
from polysched.schedule.primitives.parallel import Parallel
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.primitives.split import Split
from polysched.schedule.table import Step

FACTORS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
"""Iterations of each loop in a tile."""
SAME_CYCLES = 1.03
"""Of shapes whose predictions differ by less than this factor, the one with the largest tiles wins.

Larger tiles use data again that smaller ones fetch from the cache of another core.
"""


def wavefronts(candidate: Candidate, work: Work, context: Context) -> Iterator[SharedForm]:
    """Yield the wavefronts over pairs of neighboring loops of a nest."""
    outside = work.entries
    for outer, inner in pairwise(work.chain()):
        if any(one.kind is not LoopKind.SEQUENTIAL or one.prefetches for one in (outer, inner)):
            return
        form = _wavefront(candidate, work, outer, inner, outside, context)
        if form is not None:
            yield form
        outside *= max(1.0, work.loop_facts(outer).trip)


def _wavefront(
    candidate: Candidate,
    work: Work,
    outer: Loop,
    inner: Loop,
    entries: float,
    context: Context,
) -> SharedForm | None:
    facts = [work.loop_facts(outer), work.loop_facts(inner)]
    trips = [one.trip for one in facts]
    is_triangle = outer.name in facts[1].bounded_by and not facts[1].is_constant
    shapes = [
        (cycles, factors)
        for factors in product(FACTORS, FACTORS)
        if all(
            factor == 1 or 2 * factor <= trip for factor, trip in zip(factors, trips, strict=True)
        )
        for cycles in [_cycles(work, trips, factors, entries, context.threads, is_triangle)]
        if cycles is not None
    ]
    if not shapes:
        return None
    least = min(cycles for cycles, _ in shapes)
    cycles, factors = max(
        (shape for shape in shapes if shape[0] <= SAME_CYCLES * least),
        key=lambda shape: (math.prod(shape[1]), -abs(math.log2(shape[1][0] / shape[1][1]))),
    )
    return SharedForm(
        cycles, lambda: _made(candidate, work, (outer, inner), factors, cycles, context)
    )


def _cycles(
    work: Work,
    trips: list[float],
    factors: tuple[int, int],
    entries: float,
    threads: int,
    is_triangle: bool,
) -> float | None:
    """Predict the cycles of a wavefront; None if its tiles are too small or too few."""
    counts = [math.ceil(trip / factor - 1e-9) for trip, factor in zip(trips, factors, strict=True)]
    tiles = math.prod(counts)
    if min(counts) < threads or work.cycles / entries / tiles < LEAST_REGION / threads:
        return None
    # The inner loop of a triangle has twice its average trip count at most.
    diagonals = counts[0] + (2 if is_triangle else 1) * counts[1]
    # On average, half of the threads find no tile at the end of a diagonal.
    rounds = tiles / threads + diagonals * (threads - 1) / (2 * threads)
    together = least_shared(work.costs, threads)
    return together * rounds * threads / tiles + entries * diagonals * REGION_CYCLES


def _made(
    candidate: Candidate,
    work: Work,
    pair: tuple[Loop, Loop],
    factors: tuple[int, int],
    cycles: float,
    context: Context,
) -> Candidate | None:
    program = candidate.schedule.program
    first = pair[0].statements[0]
    wanted = [f"{loop.name}{end}" for loop in pair for end in "tp"]
    names = fresh_names(program, work.around[0] if work.around else work.loop, *wanted, "wave")
    outer, outer_point, inner, inner_point, wave = (f"{first}.{name}" for name in names)
    steps: list[Step] = []
    tiles, points = [f"{first}.{loop.name}" for loop in pair], []
    for at, (tile, point) in enumerate(((outer, outer_point), (inner, inner_point))):
        if factors[at] > 1:
            into = (tile.rpartition(".")[2], point.rpartition(".")[2])
            steps.append(Split(tiles[at], factors[at], into))
            tiles[at] = tile
            points.append(point)
    if len(points) == 2 or factors[0] > 1:
        steps.append(Reorder((*tiles, *points)))
    steps += [
        Skew(tiles[1], tiles[0], 1, names[-1]),
        Reorder((wave, tiles[0])),
        Parallel(tiles[0]),
    ]
    schedule = applied(candidate.schedule, steps)
    if (
        schedule is None
        or not keeps_order(schedule.program, work.statements)
        or not keeps_buffers(schedule.program)
    ):
        return None
    shape = " by ".join(map(str, factors))
    reason = (
        f"{context.threads} threads share the tiles of a diagonal, {shape} iterations of "
        f"{pair[0].name}, {pair[1].name} each: both loops carry dependences"
    )
    return candidate.with_decision(
        schedule,
        Decision(tuple(steps), work.statements, reason),
        scaled(candidate.costs, work.statements, cycles),
    )
