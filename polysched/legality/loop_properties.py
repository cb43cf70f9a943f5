"""What every loop of a schedule could be: parallel, a vector, permuted with the loop inside it.

Where a loop cannot, the dependences say why. A loop is judged by the dependences that the loops
around it leave to it, so the answer holds whether or not the rest of the schedule is legal. What
isl cannot decide within its quota stays unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import islpy as isl

from polysched.dependence.distance import distance
from polysched.dependence.relations import DependenceKind
from polysched.ir.budget import DEFAULT_SECONDS, time_budget
from polysched.ir.kernel import Array
from polysched.ir.linear import Interval
from polysched.ir.quota import QuotaExceededError, operation_quota
from polysched.ir.tree import Loop, LoopKind, Node, executed, loops, rewrite, statements
from polysched.legality.order import breaks, pairs_of
from polysched.legality.shared_bytes import sharing_pairs, sharing_relations
from polysched.legality.storage import UndecidedError, array_faults
from polysched.legality.within import CarriedDependence, dependences_within, loop_reference
from polysched.schedule.lifetime import references_to
from polysched.schedule.program import Program, prefix_loops
from polysched.schedule.schedule import Schedule, require_schedule
from polysched.schedule.split import split_loop
from polysched.schedule.vectorize import LARGEST_LANES

QUESTION_QUOTA = 300_000
"""Operations of isl for one property of one loop."""

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Obstacle:
    """A dependence that stands in the way.

    Attributes:
        kind, array: of the dependence.
        source, sink: its statements.
        may: whether a subscript depends on data, so that nobody knows if there is a conflict.
        reduction: whether its ends are two updates of a reduction that is free in its order:
            either may come first, but not both at once.
        distances: the least and the greatest number of iterations from source to sink in the loop,
            and for a permutation in the loop inside it too; None where no literal bounds it.
        shared_byte: whether it is no dependence, but elements of a packed array in one byte, which
            one of the two writes.
        shared_memory: whether it is no dependence, but elements of a buffer, or of a folded
            array, that take turns in one place in memory: lanes would use it at once.
    """

    kind: DependenceKind
    array: str
    source: str
    sink: str
    reduction: bool
    distances: tuple[Interval, ...]
    may: bool = False
    shared_byte: bool = False
    shared_memory: bool = False


@dataclass(frozen=True)
class LoopReport:
    """What one loop could be. Of obstacles None says that the answer is unknown.

    Attributes:
        loop: the text that names the loop in a step.
        depth: the number of loops around it.
        kind: how its iterations run now.
        statements: the statements below it.
        serial: what keeps its iterations from running in parallel.
        lanes: of a sequential loop, the largest vector that is legal, at most ``LARGEST_LANES``; 1
            if none is proved. None for a loop that is unrolled or a vector, or has a vector around
            or inside.
        scalar: what keeps ``lanes`` from being larger.
        inner: the loop directly inside; None if there is a sequence or a statement, for vector
            loops and those around them, and if it is parallel: outside it would run more at once.
        ordered: what keeps the loop and the one directly inside from changing places.
    """

    loop: str
    depth: int
    kind: LoopKind
    statements: tuple[str, ...]
    serial: tuple[Obstacle, ...] | None
    lanes: int | None
    scalar: tuple[Obstacle, ...] | None
    inner: str | None
    ordered: tuple[Obstacle, ...] | None

    @property
    def is_parallel(self) -> bool:
        """Whether the iterations are proved to run in any order and at once."""
        return self.serial == ()

    @property
    def is_permutable(self) -> bool:
        """Whether the loop and the one directly inside are proved to change places freely."""
        return self.inner is not None and self.ordered == ()


def explain_loops(
    schedule: Schedule, *, quota: int = QUESTION_QUOTA, seconds: float = DEFAULT_SECONDS
) -> tuple[LoopReport, ...]:
    """A report on every loop of a schedule, an outer before an inner one.

    Args:
        quota: what isl may spend on one property of one loop, in operations. 0: no limit.
        seconds: the wall time of the call; what is asked later is unknown. 0: no limit.

    Raises:
        ScheduleError: it is no schedule, or the quota or the seconds are no number, or less than 0.
    """
    require_schedule(schedule)
    program = schedule.program
    with time_budget(seconds):
        return tuple(_report(program, loop, quota) for loop in loops(program.tree))


def _report(program: Program, loop: Loop, quota: int) -> LoopReport:
    demands = _answer(quota, lambda: dependences_within(program, loop))
    inner = loop.body if isinstance(loop.body, Loop) else None
    if inner and (LoopKind.VECTOR in (loop.kind, inner.kind) or inner.kind is LoopKind.PARALLEL):
        inner = None  # a parallel loop that comes outside runs more at once

    def ask(question: Callable[[list[CarriedDependence]], _Answer]) -> _Answer | None:
        return None if demands is None else _answer(quota, lambda: question(demands))

    lanes, scalar = (
        ask(lambda demands: _vector(program, loop, demands)) or (1, None)
        if _may_be_vector(program, loop)
        else (None, ())
    )
    return LoopReport(
        loop=loop_reference(program, loop),
        depth=len(prefix_loops(program, loop)) - 1,
        kind=loop.kind,
        statements=statements(loop),
        serial=ask(
            lambda demands: _obstacles(_carried(loop, demands), loop) or _in_one_byte(program, loop)
        ),
        lanes=lanes,
        scalar=scalar,
        inner=loop_reference(program, inner) if inner else None,
        ordered=ask(lambda demands: _obstacles(_turned_round(inner, demands), loop, inner))
        if inner
        else (),
    )


def _answer(quota: int, question: Callable[[], _Answer]) -> _Answer | None:
    try:
        with operation_quota(quota):
            return question()
    except (QuotaExceededError, UndecidedError, isl.Error):
        return None


def _carried(loop: Loop, demands: list[CarriedDependence]) -> Iterator[CarriedDependence]:
    """The pairs with their ends in different iterations."""
    for one in demands:
        yield replace(one, pairs=one.apart(loop))


def _in_one_byte(program: Program, loop: Loop) -> tuple[Obstacle, ...]:
    """What threads would touch at once though no dependence joins it."""
    around = prefix_loops(program, loop)[:-1]
    sharing = sharing_relations(program)
    return tuple(
        Obstacle(
            DependenceKind.FLOW if sink.position else DependenceKind.OUTPUT,
            program.statements[source.statement].target.array,
            source.statement,
            sink.statement,
            False,
            (distance(pairs, loop.values[source.statement], loop.values[sink.statement]),),
            shared_byte=True,
        )
        for source, sink, pairs in sharing_pairs(program, loop, around, sharing)
    )


def _turned_round(inner: Loop, demands: list[CarriedDependence]) -> Iterator[CarriedDependence]:
    """The pairs that run backwards if the loop directly inside is put outside."""
    for one in demands:
        if not one.dependence.reorderable:
            yield replace(one, pairs=one.backward(inner))


def _may_be_vector(program: Program, loop: Loop) -> bool:
    nest = (*prefix_loops(program, loop), *loops(loop))
    return loop.kind is LoopKind.SEQUENTIAL and all(one.kind is not LoopKind.VECTOR for one in nest)


def _vector(
    program: Program, loop: Loop, demands: list[CarriedDependence]
) -> tuple[int, tuple[Obstacle, ...]]:
    """The largest legal number of lanes, and what forbids twice as many."""
    lanes = LARGEST_LANES
    # Vectors of half the lanes lie within those of all: what breaks the one breaks the other.
    while lanes > 1 and next(_unlike_lanes(loop, demands, lanes), None):
        lanes //= 2
    obstacles: tuple[Obstacle, ...] = ()
    if lanes < LARGEST_LANES:
        obstacles = _obstacles(_unlike_lanes(loop, demands, 2 * lanes), loop)
    sharing = _sharing_memory(program, loop)
    while lanes > 1 and (found := tuple(_in_one_place(program, loop, sharing, lanes))):
        lanes, obstacles = lanes // 2, found
    return lanes, obstacles


def _sharing_memory(program: Program, loop: Loop) -> list[Array]:
    """The arrays used below a loop of which elements share memory, and are right as it is."""
    below = frozenset(statements(loop))
    contracted = {one.array for one in program.dependences if one.storage}
    tree = executed(program.tree)
    return [
        array
        for name, array in program.arrays.items()
        if (array.tile or name in contracted)
        and any(one.statement in below for one in references_to(program, array))
        and next(array_faults(program, tree, array), None) is None
    ]


def _in_one_place(
    program: Program, loop: Loop, arrays: list[Array], lanes: int
) -> Iterator[Obstacle]:
    """What lanes would spoil in memory that they share."""
    if not arrays:
        return
    tree = rewrite(program.tree, loop, lambda _: _vectorized(loop, lanes))
    in_lanes = program.with_tree(tree)
    for array in arrays:
        for fault in array_faults(in_lanes, executed(tree), array):
            names = [end.statement for end in fault.ends]
            if not isinstance(fault.instances, isl.Map) or not loop.values.keys() >= {*names}:
                continue
            source, sink = names
            apart = distance(fault.instances, loop.values[source], loop.values[sink])
            kind = DependenceKind.ANTI
            yield Obstacle(kind, array.name, source, sink, False, (apart,), shared_memory=True)


def _unlike_lanes(
    loop: Loop, demands: Iterable[CarriedDependence], lanes: int
) -> Iterator[CarriedDependence]:
    """The pairs that break if the loop runs in vectors, at the times at which they really run."""
    tree = executed(_vectorized(loop, lanes))
    for one in demands:
        pairs = replace(pairs_of(one.dependence), relation=one.pairs)
        for place in breaks(tree, pairs):
            yield replace(one, pairs=place.relation)


def _vectorized(loop: Loop, lanes: int) -> Node:
    pair = split_loop(loop, lanes, loop.name, f"{loop.name}v")
    assert isinstance(pair.body, Loop)
    return replace(pair, body=replace(pair.body, kind=LoopKind.VECTOR, lanes=lanes))


def _obstacles(parts: Iterable[CarriedDependence], *along: Loop) -> tuple[Obstacle, ...]:
    """One obstacle for all the parts that differ in their pairs alone, the empty parts left out."""
    united: dict[tuple[DependenceKind, str, str, str, bool, bool], isl.Map] = {}
    for part in parts:
        if not part.pairs.is_empty():
            found = part.dependence
            ends = (part.source, part.sink)
            key = (found.kind, found.array, *ends, found.reorderable, found.may)
            united[key] = united[key].union(part.pairs) if key in united else part.pairs
    return tuple(
        Obstacle(
            *key[:5],
            may=key[5],
            distances=tuple(
                distance(pairs, loop.values[key[2]], loop.values[key[3]]) for loop in along
            ),
        )
        for key, pairs in united.items()
    )
