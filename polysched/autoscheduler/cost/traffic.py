"""Traffic between the caches, counted from the footprints of a statement's accesses.

Accesses that move through an array in the same way form a stream. For each cache, the outermost
loops whose footprint fits decide which lines are fetched again: the neighboring rows that a stencil
reads count as one row if a row stays in the cache until the next one is computed.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from polysched.autoscheduler.facts.statement import AccessFacts, LoopFacts, StatementFacts
from polysched.ir.core.tree import LoopKind
from polysched.machine.description import Machine

USABLE_PART = 0.75
"""The part of a cache that holds data until it is used again: replacement is not perfect."""
OTHER_LEVELS = 0.5
"""The part of the traffic into the less busy caches that does not overlap with the busiest."""
FRESH_PAGES = 8192
"""Pages of a temporary that are kept between calls; larger ones are mapped anew.

Kernels keep a block of 64 MiB (`runtime/workspace.c`), and the C library blocks of up to 32 MiB, as
a rule. With 32 pages, scores of 1 MB, eight at a time, were given up for a form that takes 1.3
times as long.
"""
FRESH_PAGE_CYCLES = 2000.0
"""Cycles of the first write to a page of such an array: the system maps and clears it.

Measured on Zen 4 under a hypervisor: a temporary of 64 MB makes a box filter take 100 ms longer.
"""
APART = 1024
"""Bytes between streams that the prefetchers follow one by one."""
MOST_STREAMS = 16
"""Rows that the prefetchers follow at once; lines of further rows count as not in sequence.

Measured on Zen 4 with ``b[i][j] += a[j][i]`` for 1000 rows of doubles: gathers from 32 rows at once
take as long as scalar code, transposed tiles of 8 rows half of that.
"""
LEAP_CYCLES = {1: 0.0, 2: 7.5, 3: 4.5}
"""Further cycles of a line that is not fetched in sequence, by the level that it is brought into.

Loads overlap, so lines of the second-level cache cost the same in any order. Measured on Zen 4 with
sums down the columns of a matrix of 3000 rows in the third-level cache: a line takes 3.4 cycles in
sequence, 4.6 if 8 lines lie side by side, and 21 if it stands alone. The TLB takes half of 21. On
Sapphire Rapids in a virtual machine, with 1500 rows: 8.1, 10.2 and 17.3.
"""
FOLLOWED_LEAP = 0.3
"""The part of a leap's cost that remains where loops leap from row to row in narrow strips.

Measured on Zen 4 with sums of the columns of 1000 rows of doubles in the third-level cache: in
strips of 1, 3, 6 and 12 lines a line takes 2.1, 1.1, 0.6 and 0.4 cycles longer than in whole rows.
"""
LANES_AND_COPIES = (LoopKind.VECTOR, LoopKind.UNROLLED)


@dataclass(frozen=True)
class Stream:
    """Accesses that move through one array in the same way, at constant distances.

    Attributes:
        access: one of them.
        offsets: the distances in bytes from the access with the least address, ascending.
        transfers: 2 if lines are written back, else 1.
        left_behind: the bytes of a cache in which the elements are found, as an earlier statement
            has used them.
    """

    access: AccessFacts
    offsets: tuple[int, ...]
    transfers: int
    left_behind: float


def memory_cycles(
    facts: StatementFacts, machine: Machine, beside: Sequence[StatementFacts] = ()
) -> tuple[str, float]:
    """Return the cycles of traffic into the caches, and the level behind the busiest one.

    Args:
        beside: the statements before it in the same loops. Their streams are one with those of the
            statement, which costs what it adds to them.
    """
    earlier = tuple(access for other in beside for access in other.accesses)
    level, cycles = _cycles((*facts.accesses, *earlier), facts, machine)
    if earlier:
        cycles = max(0.0, cycles - _cycles(earlier, facts, machine)[1])
    return level, cycles + fresh_page_cycles(facts, machine)


def fresh_page_cycles(facts: StatementFacts, machine: Machine) -> float:
    """Return the cycles in which the system maps the pages of a temporary that is written first."""
    if facts.target.is_argument or facts.reads_target:
        return 0.0
    stream = Stream(facts.target, (0,), 2, math.inf)
    mapped, _ = stream_footprint(stream, _lanes_last(facts), machine.page_bytes)
    return FRESH_PAGE_CYCLES * mapped if mapped > FRESH_PAGES else 0.0


def _lanes_last(facts: StatementFacts) -> list[LoopFacts]:
    """Return the loops; lanes run together, whichever loops stand inside the vector loop."""
    return sorted(facts.loops, key=lambda loop: loop.kind is LoopKind.VECTOR)


def _cycles(
    accesses: Sequence[AccessFacts], facts: StatementFacts, machine: Machine
) -> tuple[str, float]:
    """Return the cycles and the busiest level of accesses in the loops of a statement."""
    busiest, total, name = 0.0, 0.0, "L1"
    loops, costs = _lanes_last(facts), machine.costs
    streams = _streams(accesses)
    footprints: dict[int, _Footprints] = {}
    for cache in machine.near_caches:
        if cache.line not in footprints:
            footprints[cache.line] = _Footprints(streams, loops, cache.line)
        line_cycles = costs.line_cycles(cache.level)
        leap = 1.0 + LEAP_CYCLES.get(cache.level, LEAP_CYCLES[3]) / line_cycles
        cycles = line_cycles * footprints[cache.line].traffic(cache.bytes, leap, write_back=True)
        total += cycles
        if cycles > busiest:
            busiest = cycles
            name = "memory" if cache is machine.near_caches[-1] else f"L{cache.level + 1}"
    pages = _Footprints(streams, loops, machine.page_bytes)
    walks = sum(
        cycles * pages.traffic(held * machine.page_bytes, 1.0, write_back=False)
        for held, cycles in ((costs.near_pages, costs.near_page), (costs.far_pages, costs.far_page))
    )
    return name, busiest + OTHER_LEVELS * (total - busiest) + walks


class _Footprints:
    """The lines that streams touch in the innermost loops, each computed once."""

    def __init__(self, streams: Sequence[Stream], loops: Sequence[LoopFacts], line: int) -> None:
        self.streams = streams
        self.loops = loops
        self.line = line
        self.moves: list[list[tuple[int, float]]] = [[] for _ in streams]
        self.known = [[_moved(access, (), line) for access in streams]]

    def inside(self, first: int) -> list[tuple[float, float]]:
        """The footprint of each stream in all iterations of the loops from a position on."""
        while len(self.known) <= len(self.loops) - first:
            loop = self.loops[len(self.loops) - len(self.known)]
            self.known.append(list(self.known[-1]))
            for at, stream in enumerate(self.streams):
                move = _move(stream.access, loop, self.line)
                if move is not None:
                    insort(self.moves[at], move)
                    self.known[-1][at] = _moved(stream, self.moves[at], self.line)
        return self.known[len(self.loops) - first]

    def traffic(self, cache_bytes: int, leap: float, *, write_back: bool) -> float:
        """Return the lines brought into a cache.

        Args:
            leap: the weight of a line that is not fetched in sequence.
            write_back: whether lines are written back, and earlier statements leave lines behind.
        """
        first = self._fitting(cache_bytes)
        if first == 0:
            return 0.0
        # Neighboring iterations of the loop around them share lines, which stay in the cache.
        first -= 1
        total = 0.0
        for stream, (lines, run) in zip(self.streams, self.inside(first), strict=True):
            if write_back and stream.left_behind <= cache_bytes:
                continue
            outside = list(self.loops[:first])
            if stream.access.stride(self.loops[first].name) == 0:
                while outside and stream.access.stride(outside[-1].name) == 0:
                    outside.pop()
            rows = self._rows(stream)
            along = 1.0 if rows > MOST_STREAMS else self._row_run(stream, first, rows)
            strip = self._strip_run(stream, first + 1) / FOLLOWED_LEAP
            weight = 1.0 + (leap - 1.0) / min(run, along, strip)
            weight *= stream.transfers if write_back else 1
            total += lines * weight * math.prod(iterations(loop) for loop in outside)
        return total

    def _rows(self, stream: Stream) -> float:
        """Return the rows of a stream to which lanes and copies go in one iteration."""
        return math.prod(iterations(loop) for loop in self.loops if _goes_to_rows(stream, loop))

    def _row_run(self, stream: Stream, first: int, rows: float) -> float:
        """Return the lines in sequence along one of several rows that run at once."""
        if rows == 1:
            return math.inf
        along = [loop for loop in self.loops[first:] if not _goes_to_rows(stream, loop)]
        return stream_footprint(stream, along, self.line)[1]

    def _strip_run(self, stream: Stream, first: int) -> float:
        """Return the lines in sequence in strips of a matrix, of more rows than are followed."""
        inside = self.loops[first:]
        rows = math.prod(iterations(loop) for loop in inside if _leaps(stream, loop))
        return stream_footprint(stream, inside, self.line)[1] if rows > MOST_STREAMS else math.inf

    def _fitting(self, cache_bytes: int) -> int:
        """Return the position of the outermost loop whose iterations together fit a cache."""
        first = len(self.loops)
        while first > 0:
            held = sum(lines for lines, _ in self.inside(first - 1))
            if held * self.line > USABLE_PART * cache_bytes:
                break
            first -= 1
        return first


def _goes_to_rows(stream: Stream, loop: LoopFacts) -> bool:
    """Whether the lanes or copies of a loop go to rows that the prefetchers follow one by one."""
    return loop.kind in LANES_AND_COPIES and _leaps(stream, loop)


def _leaps(stream: Stream, loop: LoopFacts) -> bool:
    """Whether each iteration of a loop goes to another row."""
    return abs(stream.access.stride(loop.name) or 0) >= APART


def _streams(accesses: Sequence[AccessFacts]) -> list[Stream]:
    """Group accesses by the way in which they move through an array."""
    groups: list[list[AccessFacts]] = []
    for access in accesses:
        group = next((members for members in groups if access.runs_with(members[0])), None)
        if group is None:
            groups.append([access])
        else:
            group.append(access)
    streams = []
    for group in groups:
        offsets = sorted({access.offset for access in group})
        distances = tuple(offset - offsets[0] for offset in offsets)
        transfers = 2 if any(access.is_write for access in group) else 1
        left_behind = max(access.left_behind for access in group)
        streams.append(Stream(group[0], distances, transfers, left_behind))
    return streams


def footprint(access: AccessFacts, loops: Sequence[LoopFacts], line: int) -> float:
    """Return the lines that an access touches in all iterations of some loops."""
    return stream_footprint(Stream(access, (0,), 1, math.inf), loops, line)[0]


def stream_footprint(stream: Stream, loops: Sequence[LoopFacts], line: int) -> tuple[float, float]:
    """Return the lines that a stream touches in all iterations of some loops.

    The second value is the number of lines that lie one behind the other, at least.
    """
    moves = (_move(stream.access, loop, line) for loop in loops)
    return _moved(stream, sorted(move for move in moves if move is not None), line)


def _move(access: AccessFacts, loop: LoopFacts, line: int) -> tuple[int, float] | None:
    """Return the stride and the iterations of a loop; None if the access does not move along it."""
    stride = access.stride(loop.name)
    if stride == 0:
        return None
    return line if stride is None else abs(stride), iterations(loop)


def _moved(stream: Stream, moves: Sequence[tuple[int, float]], line: int) -> tuple[float, float]:
    """Return the footprint of a stream that moves so, the least strides first."""
    return _lines(tuple(moves), stream.offsets, stream.access.bytes, line)


@lru_cache(maxsize=2**14)  # plans of one statement have many of their inner loops in common
def _lines(
    moves: tuple[tuple[int, float], ...], offsets: tuple[int, ...], width: int, line: int
) -> tuple[float, float]:
    """Return the footprint of accesses of some bytes, and how many lines lie in sequence."""
    merged = _overlapping(moves, line)
    lines, run = 0.0, math.inf
    for further in _pieces(offsets, merged, line):
        span, pieces = float(width), 1.0
        for (stride, count), further_count in zip(merged, further, strict=True):
            if stride <= span + line:  # a gap of less than a line is fetched too
                span += stride * (count + further_count - 1)
            else:
                pieces *= count + further_count
        lines += pieces * max(1.0, span / line)
        if pieces > 1:
            run = min(run, max(1.0, span / line))
    return lines, run


def _overlapping(moves: Sequence[tuple[int, float]], line: int) -> list[tuple[int, float]]:
    """Merge loops whose iterations touch overlapping boxes, as the time loop of a skewed band.

    Args:
        moves: stride and trip count of each loop, by ascending strides.
    """
    kept: list[tuple[int, float]] = []
    for stride, count in moves:
        steps = _steps(stride, kept, line)
        if (
            any(steps)
            and abs(stride - sum(k * s for k, (s, _) in zip(steps, kept, strict=True))) <= line
        ):
            kept = [
                (inner, trip + abs(step) * (count - 1))
                for step, (inner, trip) in zip(steps, kept, strict=True)
            ]
        else:
            kept.append((stride, count))
    return kept


def _steps(distance: int, moves: Sequence[tuple[int, float]], line: int) -> list[int]:
    """Return the iterations of each loop that make a distance, the largest strides first.

    A loop with fewer iterations than the distance needs takes no part.
    """
    steps = [0] * len(moves)
    for at in reversed(range(len(moves))):
        stride, count = moves[at]
        step = round(distance / stride)
        if stride >= line and abs(step) <= count:
            steps[at] = step
            distance -= step * stride
    return steps


def _pieces(
    offsets: Sequence[int], moves: Sequence[tuple[int, float]], line: int
) -> list[list[int]]:
    """Divide the accesses of a stream into those whose footprints overlap.

    Returns for each part how many iterations of each loop the accesses lie apart. Two accesses are
    in one part if some loop reaches the element of one from the element of the other.
    """
    parts: dict[int, list[list[int]]] = {}
    for offset in offsets:
        steps = _steps(offset, moves, line)
        rest = offset - sum(step * stride for step, (stride, _) in zip(steps, moves, strict=True))
        parts.setdefault(round(rest / line) if abs(rest) > line else 0, []).append(steps)
    return [
        [max(along) - min(along) for along in zip(*members, strict=True)]
        for members in parts.values()
    ]


def iterations(loop: LoopFacts) -> float:
    """Return the trip count of a loop; of a vector loop its lanes."""
    return float(loop.lanes) if loop.kind is LoopKind.VECTOR else max(1.0, loop.trip)
