"""Speedups of polysched over other contestants, and their geometric means."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from polysched.errors import BenchError

OWN = "polysched"
"""The name of polysched's contestant in every race."""


@dataclass(frozen=True)
class Speedup:
    """polysched's rate divided by the rate of another contestant at the same work.

    Attributes:
        work: the work's name, with its sizes.
        over: the other contestant.
        ratio: polysched's median rate divided by the median rate of the other contestant.
        own: the name of polysched's contestant, of which there may be several.
        is_bound: whether the ratio is only an upper bound, because the other contestant is held
            back and could be faster.
    """

    work: str
    over: str
    ratio: float
    own: str = OWN
    is_bound: bool = False


def geometric_mean(ratios: Iterable[float]) -> float:
    """The geometric mean of positive ratios.

    Raises:
        BenchError: there are no ratios.
    """
    values = list(ratios)
    if not values:
        raise BenchError("no work was raced against a peer, so there is no mean of ratios")
    return statistics.geometric_mean(values)


def geometric_means(speedups: Iterable[Speedup]) -> dict[str, float]:
    """The geometric mean of the speedups over each contestant, by its name."""
    by_name: dict[str, list[float]] = {}
    for speedup in speedups:
        by_name.setdefault(speedup.over, []).append(speedup.ratio)
    return {name: geometric_mean(ratios) for name, ratios in by_name.items()}
