"""Order check: the pairs of dependent instances that a loop tree runs in a wrong order.

The tree is the executed tree (:func:`polysched.ir.core.tree.executed`), in which vector loops stand
directly around leaves. The lanes of a vector run together, all reads of a statement before its
writes. The iterations of a parallel loop run in any order and at once, so none may depend on
another. An instruction that reassociates runs the iterations of its unrolled loops in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from types import MappingProxyType
from typing import TypeAlias

import islpy as isl

from polysched.dependence.relations import Dependence, DependenceKind, Reference
from polysched.dependence.table import DependenceTable, representatives
from polysched.ir.core.tree import Leaf, Loop, LoopKind, Node
from polysched.ir.core.tree import Sequence as SequenceNode
from polysched.ir.isl.shared_results import remembered
from polysched.ir.isl.smallest import SmallPoint, smallest_pair
from polysched.legality.verdicts.verdict import Cause, Violation, ViolationKind, Witness
from polysched.legality.verdicts.witness import occurrences
from polysched.schedule.core.program import Program

_AT_ONCE = MappingProxyType(
    {
        LoopKind.VECTOR: {False: Cause.LANES, True: Cause.REDUCTION_LANES},
        LoopKind.PARALLEL: {False: Cause.THREADS, True: Cause.REDUCTION_THREADS},
    }
)
"""Loop kinds whose iterations run at once: the cause of a violation, by ``Pairs.reorderable``."""


_Comparison: TypeAlias = Callable[[isl.PwAff, isl.PwAff], isl.Map]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs ``source instance -> sink instance``: the source must run before the sink.

    Attributes:
        reorderable: either end may run first, but both must not run at once.
        reads_first: the source reads and the sink writes in the same statement: both may run in
            lanes of one vector.
    """

    source: str
    sink: str
    relation: isl.Map
    reorderable: bool = False
    reads_first: bool = False


@dataclass(frozen=True, eq=False)
class Break:
    """Pairs that a tree node breaks; ``loop`` is its name, None for a sequence or a leaf."""

    cause: Cause
    loop: str | None
    relation: isl.Map


def pairs_of(dependence: Dependence) -> Pairs:
    """Return the pairs that a dependence orders."""
    same = dependence.source.statement == dependence.sink.statement
    return Pairs(
        dependence.source.statement,
        dependence.sink.statement,
        dependence.relation,
        dependence.reorderable,
        same and dependence.kind is DependenceKind.ANTI and not dependence.reorderable,
    )


def demanded(dependences: Sequence[Dependence]) -> Sequence[Dependence]:
    """Return the dependences that every order must keep: all but those of shared storage."""
    if isinstance(dependences, DependenceTable):  # the declared program shares no storage
        return dependences
    return [dependence for dependence in dependences if not dependence.storage]


def merged(dependences: Iterable[Dependence]) -> list[Pairs]:
    """Unite the pairs of all dependences of one kind between the same two statements."""
    known = tuple(dependences)
    return remembered(partial(_merged, known), merged, known)


def _merged(dependences: Iterable[Dependence]) -> list[Pairs]:
    united: dict[tuple[str, str, bool, bool], Pairs] = {}
    for dependence in dependences:
        pairs = pairs_of(dependence)
        key = (pairs.source, pairs.sink, pairs.reorderable, pairs.reads_first)
        if key in united:
            relation = united[key].relation.union(pairs.relation)
            united[key] = replace(pairs, relation=relation)
        else:
            united[key] = pairs
    return [replace(pairs, relation=pairs.relation.coalesce()) for pairs in united.values()]


def breaks(node: Node, pairs: Pairs) -> Iterator[Break]:
    """Yield the pairs that ``node`` breaks, from the outermost breaking node inward."""
    match node:
        case Leaf():
            yield Break(Cause.SAME_TIME, None, pairs.relation)
        case SequenceNode(children=children, positions=positions):
            first, second = positions[pairs.source], positions[pairs.sink]
            if first == second:
                yield from breaks(children[first], pairs)
            elif first > second and not pairs.reorderable:
                yield Break(Cause.SEQUENCE, None, pairs.relation)
        case Loop():
            yield from _loop_breaks(node, pairs)


def _loop_breaks(loop: Loop, pairs: Pairs) -> Iterator[Break]:
    source, sink = loop.values[pairs.source], loop.values[pairs.sink]
    if loop.kind in _AT_ONCE:
        if loop.kind is LoopKind.PARALLEL or not pairs.reads_first:
            together = _selected(pairs.relation, _apart, source, sink)
            if together is not None:
                yield Break(_AT_ONCE[loop.kind][pairs.reorderable], loop.name, together)
    elif not pairs.reorderable:
        if loop.instruction is not None and loop.instruction.reassociates:
            forward = _selected(pairs.relation, isl.PwAff.lt_map, source, sink)
            if forward is not None:
                yield Break(Cause.INSTRUCTION, loop.name, forward)
        backward = _selected(pairs.relation, isl.PwAff.gt_map, source, sink)
        if backward is not None:
            yield Break(Cause.LOOP, loop.name, backward)
    remaining = _selected(pairs.relation, isl.PwAff.eq_map, source, sink)
    if remaining is not None:
        yield from breaks(loop.body, replace(pairs, relation=remaining))


def _apart(source: isl.PwAff, sink: isl.PwAff) -> isl.Map:
    return source.lt_map(sink).union(source.gt_map(sink))


def _selected(relation: isl.Map, compare: _Comparison, *values: isl.PwAff) -> isl.Map | None:
    """Return the pairs whose loop values compare so; None if there are none.

    Candidates of one search have loops and dependences in common, so results are shared.
    """

    def select() -> isl.Map | None:
        compared = remembered(partial(compare, *values), compare, values)
        selected = relation.intersect(compared)
        return None if selected.is_empty() else selected

    return remembered(select, _selected, (relation, *values), compare)


def unordered(tree: Node, source: Reference, sink: Reference, pairs: isl.Map) -> isl.Map:
    """Return the pairs whose sink may run before, or at once with, the source.

    Each instance reads before it writes.
    """
    same = source.statement == sink.statement
    reads_first = same and source.position > 0 and not sink.position
    if reads_first:
        pairs = pairs.subtract(isl.Map.identity(pairs.get_space()))
    nothing = pairs.subtract(pairs)
    if pairs.is_empty():
        return nothing
    demanded = Pairs(source.statement, sink.statement, pairs, reads_first=reads_first)
    return reduce(isl.Map.union, (place.relation for place in breaks(tree, demanded)), nothing)


def keeps(tree: Node, dependences: Sequence[Dependence]) -> bool:
    """Whether the executed tree keeps every dependence."""
    different = merged(representatives(dependences, tree))
    return all(next(breaks(tree, pairs), None) is None for pairs in different)


def broken_dependences(
    tree: Node, dependences: Sequence[Dependence]
) -> list[tuple[Dependence, list[Break]]]:
    """Return the dependences that the executed tree breaks, each with its breaks.

    Of dependences that are equal up to the names of statements and loops, only the first counts.
    """
    broken = []
    for dependence in representatives(dependences, tree):
        places = list(breaks(tree, pairs_of(dependence)))
        if places:
            broken.append((dependence, places))
    return broken


_TOGETHER = MappingProxyType(
    {
        Cause.LANES: ViolationKind.VECTOR,
        Cause.REDUCTION_LANES: ViolationKind.VECTOR,
        Cause.THREADS: ViolationKind.PARALLEL,
        Cause.REDUCTION_THREADS: ViolationKind.PARALLEL,
    }
)
_RANK = {DependenceKind.FLOW: 0, DependenceKind.OUTPUT: 1, DependenceKind.ANTI: 2}


def order_violation(program: Program, tree: Node) -> Violation | None:
    """Find the smallest pair of dependent instances that the executed tree runs in a wrong order.

    Storage dependences are left to the storage check. At equal parameters, a flow dependence is
    preferred to an output dependence, and an output dependence to an anti dependence.
    """
    dependences = demanded(program.dependences)
    if keeps(tree, dependences):
        return None
    candidates = [
        (dependence, places, smallest_pair(_united(places)))
        for dependence, places in broken_dependences(tree, dependences)
    ]
    dependence, places, (source, sink) = min(
        candidates,
        key=lambda entry: (
            [value for _, value in entry[2][0].parameters],
            _RANK[entry[0].kind],
            entry[2][0].values,
            entry[2][1].values,
        ),
    )
    place = next(place for place in places if _holds(place, source, sink))
    return Violation(
        kind=_TOGETHER.get(place.cause, ViolationKind.ORDER),
        cause=place.cause,
        witness=Witness(
            source.parameters,
            *occurrences(program, (dependence.source, dependence.sink), (source, sink)),
        ),
        dependence=dependence.kind,
        array=dependence.array,
        loop=place.loop,
    )


def _united(places: list[Break]) -> isl.Map:
    return reduce(lambda a, b: a.union(b), (place.relation for place in places))


def _holds(place: Break, source: SmallPoint, sink: SmallPoint) -> bool:
    pair = SmallPoint(source.parameters, (*source.values, *sink.values))
    return not pair.restrict(place.relation.wrap().flatten()).is_empty()
