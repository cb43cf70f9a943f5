"""Order: which pairs of instances a loop tree does not run as they must be run.

The tree given here is the tree as it is executed (:func:`polysched.ir.tree.executed`): vector
loops stand directly around leaves. Lanes run together, all reads of a statement before its writes.
The iterations of a parallel loop run in any order and at once: none may depend on another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from types import MappingProxyType

import islpy as isl

from polysched.dependence.relations import Dependence, DependenceKind, Reference
from polysched.dependence.table import DependenceTable, representatives
from polysched.ir.tree import Leaf, Loop, LoopKind, Node
from polysched.ir.tree import Sequence as SequenceNode
from polysched.legality.verdict import Cause

_AT_ONCE = MappingProxyType(
    {
        LoopKind.VECTOR: {False: Cause.LANES, True: Cause.REDUCTION_LANES},
        LoopKind.PARALLEL: {False: Cause.THREADS, True: Cause.REDUCTION_THREADS},
    }
)
"""The kinds of loops whose iterations run at once; what is broken there, of a reduction or not."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs ``source instance -> sink instance`` that must stay apart in time, in that order.

    Attributes:
        reorderable: either may come first, but they must not run together.
        reads_first: source reads and sink writes, both in one statement: they may run together.
    """

    source: str
    sink: str
    relation: isl.Map
    reorderable: bool = False
    reads_first: bool = False


@dataclass(frozen=True, eq=False)
class Break:
    """Pairs that are not kept; ``loop`` is where, None where a sequence or leaf decides."""

    cause: Cause
    loop: str | None
    relation: isl.Map


def pairs_of(dependence: Dependence) -> Pairs:
    """What a dependence demands of the order."""
    within = dependence.source.statement == dependence.sink.statement
    return Pairs(
        dependence.source.statement,
        dependence.sink.statement,
        dependence.relation,
        dependence.reorderable,
        within and dependence.kind is DependenceKind.ANTI and not dependence.reorderable,
    )


def demanded(dependences: Sequence[Dependence]) -> Sequence[Dependence]:
    """The dependences that every order must keep: not those of elements that only share memory."""
    if isinstance(dependences, DependenceTable):  # of the program as declared, where none do
        return dependences
    return [one for one in dependences if not one.storage]


def merged(dependences: Iterable[Dependence]) -> list[Pairs]:
    """The demands of all the dependences, those of one kind between two statements united."""
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
    """The pairs that ``node`` does not keep, from the outermost place of breaking inwards."""
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
            apart = source.lt_map(sink).union(source.gt_map(sink))
            together = pairs.relation.intersect(apart)
            if not together.is_empty():
                yield Break(_AT_ONCE[loop.kind][pairs.reorderable], loop.name, together)
    elif not pairs.reorderable:
        backward = pairs.relation.intersect(source.gt_map(sink))
        if not backward.is_empty():
            yield Break(Cause.LOOP, loop.name, backward)
    remaining = pairs.relation.intersect(source.eq_map(sink))
    if not remaining.is_empty():
        yield from breaks(loop.body, replace(pairs, relation=remaining))


def unordered(tree: Node, source: Reference, sink: Reference, pairs: isl.Map) -> isl.Map:
    """The pairs of which the tree does not keep the source before the sink.

    An instance that reads and writes does so in this order.
    """
    within = source.statement == sink.statement
    reads_first = within and source.position > 0 and not sink.position
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
    """The dependences that the executed tree breaks, each with the places at which it does.

    Of those that break alike, up to the names of statements and loops, the first one only.
    """
    found = []
    for dependence in representatives(dependences, tree):
        places = list(breaks(tree, pairs_of(dependence)))
        if places:
            found.append((dependence, places))
    return found
