"""Arrows: dependences between the dots of a picture, with duplicates merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from polysched.dependence.relations import DependenceKind
from polysched.ir.semantics.points import Points
from polysched.plot.direct import Pairs
from polysched.plot.dots import Place
from polysched.plot.instances import Instances


@dataclass(frozen=True, order=True)
class Arrow:
    """A dependence between the instances at two places of a picture.

    Attributes:
        start, end: the places of the source and of the sink.
        source, sink: the statements.
        kind: the kind of the dependence, such as ``"flow"``.
        reorderable: whether the pair may run in either order, as in an ``order="any"`` reduction.
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


def arrows(pairs: Iterable[Pairs], shown: Sequence[Instances]) -> tuple[tuple[Arrow, ...], int]:
    """The distinct arrows, sorted by place, and the number of pairs within a single dot.

    Pairs with an end that is not among the instances shown are left out.
    """
    places = {
        points.statement: dict(zip(_tuples(points.rows), _tuples(points.places), strict=True))
        for points in shown
    }
    counted: Counter[Arrow] = Counter()
    for group in pairs:
        dependence = group.dependence
        source, sink = dependence.source.statement, dependence.sink.statement
        for first, second in zip(_tuples(group.sources), _tuples(group.sinks), strict=True):
            start, end = places[source].get(first), places[sink].get(second)
            if start is not None and end is not None:
                kind, reorderable = dependence.kind.value, dependence.reorderable
                counted[Arrow(start, end, source, sink, kind, reorderable)] += 1
    within = {a for a in counted if a.start == a.end and a.source == a.sink}
    return tuple(sorted(set(counted) - within)), sum(counted[arrow] for arrow in within)


def _tuples(rows: Points) -> list[tuple[int, ...]]:
    return list(map(tuple, rows.tolist()))
