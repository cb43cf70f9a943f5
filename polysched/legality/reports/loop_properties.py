"""Loop properties: whether each loop can be parallel, vectorized, or permuted with the inner loop.

If a loop cannot, the report lists the dependences that forbid it. A loop is judged by the
dependences that no outer loop carries, so the answer does not depend on the legality of the rest of
the schedule. If isl exceeds its quota, the property is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import islpy as isl

from polysched.dependence.distance import distance
from polysched.dependence.relations import DependenceKind
from polysched.ir.core.kernel import Array, Order, Role
from polysched.ir.core.tree import Loop, LoopKind, executed, loops, statements
from polysched.ir.expr.linear_form import Interval
from polysched.ir.isl.budget import DEFAULT_SECONDS, time_budget
from polysched.ir.isl.quota import QuotaExceededError, operation_quota
from polysched.legality.checks.carried import CarriedDependence, dependences_within, loop_reference
from polysched.legality.checks.order import breaks, pairs_of
from polysched.legality.checks.shared_bytes import sharing_pairs, sharing_relations
from polysched.legality.checks.storage import UndecidedError, array_faults
from polysched.schedule.buffers.lifetime import references_to
from polysched.schedule.core.program import Program, prefix_loops
from polysched.schedule.primitives.vectorize import LARGEST_LANES, vectorized
from polysched.schedule.schedule import Schedule, require_schedule

QUESTION_QUOTA = 300_000
"""isl operations for one property of one loop."""

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Obstacle:
    """A dependence or memory conflict that forbids a property of a loop.

    Attributes:
        kind, array: the kind and the array of the dependence.
        source, sink: the statements of its ends.
        reduction: whether both ends are updates of a reassociable reduction: they may run in either
            order, but not at once.
        kept: whether both ends are updates of one reduction that keeps its order, although
            another order would give the same result but for rounding.
        distances: the least and the greatest distance from source to sink, in iterations of the
            loop; for a permutation, also of the loop inside it. None if no literal bounds it.
        may: whether a subscript depends on data, so that the dependence is conservative.
        shared_byte: whether the conflict is not a dependence, but two elements of a packed array in
            one byte that one of the two writes.
        shared_memory: whether the conflict is not a dependence, but two elements of a buffer or
            folded array in one memory slot that lanes would use at once.
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
    kept: bool = False


@dataclass(frozen=True)
class LoopReport:
    """Legal properties of one loop. If a tuple of obstacles is None, the property is unknown.

    Attributes:
        loop: the text that names the loop in a step.
        depth: the number of loops around it.
        kind: the current kind of the loop.
        statements: the statements below it.
        serial: the obstacles to running its iterations in parallel.
        lanes: for a sequential loop, the largest legal vector, at most ``LARGEST_LANES`` lanes; 1
            if none is proved. None for unrolled and vector loops, and for loops with a vector loop
            around or inside.
        scalar: the obstacles to a larger ``lanes``.
        inner: the loop directly inside, with which the loop may be permuted. None if the body is
            not a loop, if one of the two loops is a vector loop, or if the inner loop is parallel:
            moved outward, it would run more instances at once.
        ordered: the obstacles to permuting the loop with ``inner``.
        private: the temporaries among the obstacles of which each iteration may have its own copy,
            which removes these obstacles. Only :func:`.loop_reports.explained` finds them.
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
    private: tuple[str, ...] = ()

    @property
    def is_parallel(self) -> bool:
        """Whether the iterations are proved to be independent."""
        return self.serial == ()

    @property
    def is_permutable(self) -> bool:
        """Whether permuting the loop with the loop directly inside is proved legal."""
        return self.inner is not None and self.ordered == ()


def explain_loops(
    schedule: Schedule, *, quota: int = QUESTION_QUOTA, seconds: float = DEFAULT_SECONDS
) -> tuple[LoopReport, ...]:
    """Report the legal properties of every loop of a schedule, outer loops first.

    Args:
        quota: isl operations for one property of one loop. 0: no limit.
        seconds: processor time of the call; the properties that are left at its end are unknown.
            0: no limit.

    Raises:
        ScheduleError: ``schedule`` is not a schedule, or a limit is not a number or is negative.
    """
    require_schedule(schedule)
    program = schedule.program
    with time_budget(seconds):
        return tuple(_report(program, loop, quota) for loop in loops(program.tree))


def _report(program: Program, loop: Loop, quota: int) -> LoopReport:
    demands = _answer(quota, lambda: dependences_within(program, loop))
    inner = loop.body if isinstance(loop.body, Loop) else None
    if inner and (LoopKind.VECTOR in (loop.kind, inner.kind) or inner.kind is LoopKind.PARALLEL):
        inner = None  # moved outward, a parallel loop runs more instances at once

    def ask(question: Callable[[list[CarriedDependence]], _Answer]) -> _Answer | None:
        return None if demands is None else _answer(quota, lambda: question(demands))

    lanes, scalar = (
        ask(lambda demands: _vector(program, loop, demands)) or (1, None)
        if _may_be_vector(program, loop)
        else (None, ())
    )
    report = LoopReport(
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
        ordered=ask(lambda demands: _obstacles(_broken_by_interchange(inner, demands), loop, inner))
        if inner
        else (),
    )
    return replace(
        report,
        serial=_marked(program, report.serial),
        scalar=_marked(program, report.scalar),
        ordered=_marked(program, report.ordered),
    )


def _marked(
    program: Program, obstacles: tuple[Obstacle, ...] | None
) -> tuple[Obstacle, ...] | None:
    """Mark the obstacles between updates of a reduction that keeps its order."""
    marked = [replace(obstacle, kept=_is_kept(program, obstacle)) for obstacle in obstacles or ()]
    marked.sort(key=lambda obstacle: _rank(program, obstacle))
    return obstacles and tuple(marked)


def _rank(program: Program, obstacle: Obstacle) -> tuple[bool, bool, bool]:
    """Sort obstacles: first those that no private copy of a temporary can remove."""
    is_other = obstacle.kind is not DependenceKind.FLOW
    is_own = program.arrays[obstacle.array].role is Role.TEMPORARY
    return not obstacle.kept, is_other or is_own, is_other


def _is_kept(program: Program, obstacle: Obstacle) -> bool:
    statement = program.statements[obstacle.source]
    return (
        obstacle.source == obstacle.sink
        and statement.target.array == obstacle.array
        and statement.reduction is not None
        and statement.reduction.order is Order.EXACT
    )


def _answer(quota: int, question: Callable[[], _Answer]) -> _Answer | None:
    try:
        with operation_quota(quota):
            return question()
    except (QuotaExceededError, UndecidedError, isl.Error):
        return None


def _carried(loop: Loop, demands: list[CarriedDependence]) -> Iterator[CarriedDependence]:
    """Yield the pairs with their ends in different iterations of a loop."""
    for carried in demands:
        yield replace(carried, pairs=carried.apart(loop))


def _in_one_byte(program: Program, loop: Loop) -> tuple[Obstacle, ...]:
    """Return the conflicts of threads that touch different elements in one byte."""
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


def _broken_by_interchange(
    inner: Loop, demands: list[CarriedDependence]
) -> Iterator[CarriedDependence]:
    """Yield the pairs that run backward if the inner loop is moved outward."""
    for carried in demands:
        if not carried.dependence.reorderable:
            yield replace(carried, pairs=carried.backward(inner))


def _may_be_vector(program: Program, loop: Loop) -> bool:
    nest = (*prefix_loops(program, loop), *loops(loop))
    return loop.kind is LoopKind.SEQUENTIAL and all(
        other.kind is not LoopKind.VECTOR for other in nest
    )


def _vector(
    program: Program, loop: Loop, demands: list[CarriedDependence]
) -> tuple[int, tuple[Obstacle, ...]]:
    """Return the largest legal number of lanes, and the obstacles to twice as many."""
    lanes = LARGEST_LANES
    # Halving misses no legal power of two: a pair that breaks a half vector also breaks the full
    # vector that contains it.
    while lanes > 1 and next(_broken_by_lanes(loop, demands, lanes), None):
        lanes //= 2
    obstacles: tuple[Obstacle, ...] = ()
    if lanes < LARGEST_LANES:
        obstacles = _obstacles(_broken_by_lanes(loop, demands, 2 * lanes), loop)
    sharing = _sharing_memory(program, loop)
    while lanes > 1 and (conflicts := tuple(_in_one_slot(program, loop, sharing, lanes))):
        lanes, obstacles = lanes // 2, conflicts
    return lanes, obstacles


def _sharing_memory(program: Program, loop: Loop) -> list[Array]:
    """Return the arrays below a loop whose elements share memory without a storage fault yet."""
    below = frozenset(statements(loop))
    folded = {dependence.array for dependence in program.dependences if dependence.storage}
    tree = executed(program.tree)
    return [
        array
        for name, array in program.arrays.items()
        if (array.tile or name in folded)
        and any(reference.statement in below for reference in references_to(program, array))
        and next(array_faults(program, tree, array), None) is None
    ]


def _in_one_slot(
    program: Program, loop: Loop, arrays: list[Array], lanes: int
) -> Iterator[Obstacle]:
    """Yield the conflicts of lanes in the memory that elements of ``arrays`` share."""
    if not arrays:
        return
    in_lanes = program.with_node(loop, vectorized(loop, lanes, loop.name, f"{loop.name}v"))
    for array in arrays:
        for fault in array_faults(in_lanes, executed(in_lanes.tree), array):
            names = [end.statement for end in fault.ends]
            if not isinstance(fault.instances, isl.Map) or not loop.values.keys() >= {*names}:
                continue
            source, sink = names
            apart = distance(fault.instances, loop.values[source], loop.values[sink])
            kind = DependenceKind.ANTI
            yield Obstacle(kind, array.name, source, sink, False, (apart,), shared_memory=True)


def _broken_by_lanes(
    loop: Loop, demands: Iterable[CarriedDependence], lanes: int
) -> Iterator[CarriedDependence]:
    """Yield the pairs that break if the loop is vectorized, judged in the executed order."""
    tree = executed(vectorized(loop, lanes, loop.name, f"{loop.name}v"))
    for carried in demands:
        pairs = replace(pairs_of(carried.dependence), relation=carried.pairs)
        for place in breaks(tree, pairs):
            yield replace(carried, pairs=place.relation)


def _obstacles(parts: Iterable[CarriedDependence], *along: Loop) -> tuple[Obstacle, ...]:
    """Merge the parts that differ only in their pairs into one obstacle each; drop empty parts."""
    united: dict[tuple[DependenceKind, str, str, str, bool, bool], isl.Map] = {}
    for part in parts:
        if not part.pairs.is_empty():
            dependence = part.dependence
            ends = (part.source, part.sink)
            key = (dependence.kind, dependence.array, *ends, dependence.reorderable, dependence.may)
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
