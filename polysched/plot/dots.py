"""Dots: where the instances of statements are in a picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from polysched.plot.instances import Instances

Place: TypeAlias = tuple[int, ...]
"""The values of a picture's one or two dimensions."""


@dataclass(frozen=True)
class Dot:
    """All instances of one statement at one place.

    Attributes:
        instances: how many there are: several where other dimensions are projected out.
        order: when the first of them runs, a rank from 0 among all instances; instances that run
            together, as lanes of a vector, have the same.
        tile: the tile of that instance.
    """

    statement: str
    place: Place
    instances: int
    order: int
    tile: tuple[int, ...]


def dots(found: Iterable[Instances]) -> tuple[Dot, ...]:
    """The instances by statement and place, in the order in which the first of each runs."""
    placed = [dot for one in found for dot in _dots(one)]
    return tuple(sorted(placed, key=lambda dot: (dot.order, dot.place)))


def _dots(found: Instances) -> Iterable[Dot]:
    counts: dict[Place, int] = {}
    first: dict[Place, tuple[int, tuple[int, ...]]] = {}
    for place, order, tile in zip(
        map(tuple, found.places.tolist()),
        found.order.tolist(),
        map(tuple, found.tiles.tolist()),
        strict=True,
    ):
        counts[place] = counts.get(place, 0) + 1
        first[place] = min(first.get(place, (order, tile)), (order, tile))
    return [
        Dot(found.statement, place, counts[place], order, tile)
        for place, (order, tile) in first.items()
    ]
