"""Symbols in a picture: dots for instances, arrows for dependences, marks for a witness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from polysched.dependence.relations import DependenceKind
from polysched.ir.semantics.points import Points
from polysched.legality.verdicts.verdict import Occurrence, Violation
from polysched.plot.direct import Pairs
from polysched.plot.instances import Instances
from polysched.plot.sizes import shows
from polysched.schedule.core.program import Program

Place: TypeAlias = tuple[int, ...]
"""A position in a picture: the values of its one or two dimensions."""


@dataclass(frozen=True)
class Dot:
    """All instances of one statement at one place.

    Attributes:
        instances: the number of instances; more than 1 if other dimensions are projected out.
        order: the execution rank of the first of them, from 0; instances that run together, as
            lanes of a vector, have equal ranks.
        tile: the tile of that first instance.
    """

    statement: str
    place: Place
    instances: int
    order: int
    tile: tuple[int, ...]


def dots(shown: Iterable[Instances]) -> tuple[Dot, ...]:
    """Group instances by statement and place, in execution order of the first of each group."""
    placed = [dot for instances in shown for dot in _dots(instances)]
    return tuple(sorted(placed, key=lambda dot: (dot.order, dot.place)))


def _dots(instances: Instances) -> Iterable[Dot]:
    counts: dict[Place, int] = {}
    first: dict[Place, tuple[int, tuple[int, ...]]] = {}
    for place, order, tile in zip(
        map(tuple, instances.places.tolist()),
        instances.order.tolist(),
        map(tuple, instances.tiles.tolist()),
        strict=True,
    ):
        counts[place] = counts.get(place, 0) + 1
        first[place] = min(first.get(place, (order, tile)), (order, tile))
    return [
        Dot(instances.statement, place, counts[place], order, tile)
        for place, (order, tile) in first.items()
    ]


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


@dataclass(frozen=True)
class Mark:
    """The mark of one instance of a witness; ``label`` is its name, such as ``S[0,1]``."""

    statement: str
    place: Place
    label: str


def marks(
    program: Program,
    violation: Violation | None,
    shown: Iterable[Instances],
    sizes: Mapping[str, int],
) -> tuple[tuple[Mark, ...], tuple[str, ...]]:
    """The marks of the witness, the source first, and notes on instances that are not shown."""
    if violation is None:
        return (), ()
    witness = violation.witness
    if not shows(program, violation, sizes):
        parameters = ", ".join(f"{name} = {value}" for name, value in witness.parameters)
        return (), (f"the witness of the violation holds at {parameters}, not at these sizes",)
    by_statement = {instances.statement: instances for instances in shown}
    marked, notes = [], []
    for occurrence in (witness.source, witness.sink):
        if occurrence is None:
            continue
        place = _place(by_statement.get(occurrence.statement), occurrence)
        if place is None:
            notes.append(f"{occurrence.name} of the witness is not in the picture")
        else:
            marked.append(Mark(occurrence.statement, place, occurrence.name))
    return tuple(marked), tuple(notes)


def _place(instances: Instances | None, occurrence: Occurrence) -> Place | None:
    if instances is None:
        return None
    rows = [tuple(row) for row in instances.rows.tolist()]
    if occurrence.instance not in rows:
        return None
    return tuple(instances.places[rows.index(occurrence.instance)].tolist())
