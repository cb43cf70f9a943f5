"""Traffic between the caches, counted from the footprints of a statement's accesses."""

from __future__ import annotations

import math
from collections.abc import Sequence

from polysched.autoscheduler.facts import AccessFacts, LoopFacts, StatementFacts
from polysched.ir.core.tree import LoopKind
from polysched.machine.description import Cache, Machine

LINE_CYCLES = {1: 2.0, 2: 5.0, 3: 12.0}
"""Cycles to bring a line into the cache of a level, from the level behind it, in a stream."""
NEAR_PAGES = 64
"""Pages whose addresses the first-level TLB holds."""
PAGE_CYCLES = 8.0
"""Cycles to look an address up in the second-level TLB."""
LEAP_FACTOR = 2.0
"""A line that is not fetched in sequence costs this many times the cycles of one in a stream."""


def memory_cycles(facts: StatementFacts, machine: Machine) -> tuple[str, float]:
    """Return the cycles of traffic into the busiest cache, and the name of the level behind it."""
    busiest, name = 0.0, "L1"
    streams = _streams(facts.accesses)
    for cache in machine.caches:
        fitting = _fitting(streams, facts.loops, cache)
        cycles = sum(
            _traffic(stream, facts.loops, fitting, cache.line)
            * (2 if stream.runs_with(facts.target) else 1)
            for stream in streams
        )
        cycles *= LINE_CYCLES.get(cache.level, LINE_CYCLES[3])
        if cycles > busiest:
            busiest = cycles
            name = "memory" if cache is machine.caches[-1] else f"L{cache.level + 1}"
    pages = Cache(1, NEAR_PAGES * machine.page_bytes, machine.page_bytes, NEAR_PAGES, 1)
    fitting = _fitting(streams, facts.loops, pages)
    misses = sum(_traffic(stream, facts.loops, fitting, pages.line) for stream in streams)
    return name, busiest + PAGE_CYCLES * misses / LEAP_FACTOR


def _streams(accesses: Sequence[AccessFacts]) -> list[AccessFacts]:
    """Return one access of each group that moves through an array in the same way."""
    groups: list[AccessFacts] = []
    for access in accesses:
        if not any(access.runs_with(other) for other in groups):
            groups.append(access)
    return groups


def footprint(access: AccessFacts, loops: Sequence[LoopFacts], line: int) -> tuple[float, bool]:
    """Return the lines that an access touches in all iterations of some loops.

    The second value tells whether the lines lie one behind the other.
    """
    moves = sorted(
        (abs(stride) if stride is not None else line, iterations(loop))
        for loop in loops
        if (stride := access.stride(loop.name)) != 0
    )
    span, pieces = float(access.bytes), 1.0
    for stride, count in moves:
        if stride <= span + line:  # a gap of less than a line is fetched too
            span += stride * (count - 1)
        else:
            pieces *= count
    return pieces * max(1.0, span / line), span >= 2 * line or pieces == 1


def iterations(loop: LoopFacts) -> float:
    """Return the trip count of a loop; of a vector loop its lanes."""
    return float(loop.lanes) if loop.kind is LoopKind.VECTOR else max(1.0, loop.trip)


def _fitting(streams: Sequence[AccessFacts], loops: Sequence[LoopFacts], cache: Cache) -> int:
    """Return the position of the outermost loop whose iterations together fit a cache."""
    first = len(loops)
    while first > 0:
        inside = loops[first - 1 :]
        held = sum(footprint(stream, inside, cache.line)[0] for stream in streams)
        if held * cache.line > cache.bytes:
            break
        first -= 1
    return first


def _traffic(access: AccessFacts, loops: Sequence[LoopFacts], first: int, line: int) -> float:
    """Return the lines that an access brings into a cache, weighted by how they are fetched.

    The iterations of the loops from position ``first`` on fit the cache together.
    """
    if first == 0:
        return 0.0
    # Neighboring iterations of the loop around them share lines, which stay in the cache.
    first -= 1
    lines, in_sequence = footprint(access, loops[first:], line)
    outside = list(loops[:first])
    if access.stride(loops[first].name) == 0:
        while outside and access.stride(outside[-1].name) == 0:
            outside.pop()
    weight = 1.0 if in_sequence else LEAP_FACTOR
    return lines * weight * math.prod(iterations(loop) for loop in outside)
