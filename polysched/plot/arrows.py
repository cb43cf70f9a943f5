"""Arrows: dependences between the dots of a picture, equal ones merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from polysched.dependence.relations import DependenceKind
from polysched.ir.points import Points
from polysched.plot.direct import Pairs
from polysched.plot.dots import Place
from polysched.plot.instances import Instances


@dataclass(frozen=True, order=True)
class Arrow:
    """Pairs of instances at two places of which the sink depends on the source.

    Attributes:
        source, sink: the statements.
        start, end: where their instances are.
        kind: the kind of the dependence, as in a table: ``"flow"``.
        reorderable: whether either may run first: two instances of a reduction of free order.
    """

    start: Place
    end: Place
    source: str
    sink: str
    kind: str
    reorderable: bool = False

    @property
    def dependence(self) -> DependenceKind:
        """The kind of the dependence."""
        return DependenceKind(self.kind)


def arrows(pairs: Iterable[Pairs], found: Sequence[Instances]) -> tuple[tuple[Arrow, ...], int]:
    """The different arrows in the order of their places, and how many pairs are within a dot.

    Pairs with an end that is not among the instances found are left out.
    """
    places = {
        one.statement: dict(zip(_tuples(one.rows), _tuples(one.places), strict=True))
        for one in found
    }
    counted: Counter[Arrow] = Counter()
    for one in pairs:
        dependence = one.dependence
        source, sink = dependence.source.statement, dependence.sink.statement
        for first, second in zip(_tuples(one.sources), _tuples(one.sinks), strict=True):
            start, end = places[source].get(first), places[sink].get(second)
            if start is not None and end is not None:
                kind, free = dependence.kind.value, dependence.reorderable
                counted[Arrow(start, end, source, sink, kind, free)] += 1
    within = {arrow for arrow in counted if _is_within(arrow)}
    return tuple(sorted(set(counted) - within)), sum(counted[arrow] for arrow in within)


def _is_within(arrow: Arrow) -> bool:
    return arrow.start == arrow.end and arrow.source == arrow.sink


def _tuples(rows: Points) -> list[tuple[int, ...]]:
    return list(map(tuple, rows.tolist()))
