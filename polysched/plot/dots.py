"""Dots: the instances of a statement at each place of a picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from polysched.plot.instances import Instances

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
