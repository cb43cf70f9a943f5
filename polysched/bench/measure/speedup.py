"""Speedups of polysched over other contestants, and their geometric means."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from polysched.bench.measure.race import Result
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


def over_fastest(results: Iterable[Result], owns: Collection[str] = (OWN,)) -> tuple[Speedup, ...]:
    """The speedup of polysched over its fastest peer, for each work.

    Of the contestants ``owns``, the fastest one stands for polysched.
    Work without a peer that is not held back is left out. If the fastest peer is held back, it
    still counts, because the ratio to a slower peer would be larger.
    """
    return tuple(
        _speedup(own, max(peers, key=lambda peer: peer.fraction_of_peak))
        for own, peers in _own_and_peers(results, owns)
        if any(peer.held_back is None for peer in peers)
    )


def over_each(results: Iterable[Result], others: Collection[str]) -> tuple[Speedup, ...]:
    """The speedup of polysched over each of the contestants `others`, for each work."""
    return tuple(
        _speedup(own, peer)
        for own, peers in _own_and_peers(results, (OWN,))
        for peer in peers
        if peer.contestant in others
    )


def _own_and_peers(
    results: Iterable[Result], owns: Collection[str]
) -> list[tuple[Result, list[Result]]]:
    by_work: dict[str, list[Result]] = {}
    for result in results:
        by_work.setdefault(result.kernel, []).append(result)
    return [
        (
            max(own, key=lambda result: result.fraction_of_peak),
            [result for result in group if result.contestant not in owns],
        )
        for group in by_work.values()
        if (own := [result for result in group if result.contestant in owns])
    ]


def _speedup(own: Result, peer: Result) -> Speedup:
    ratio = own.fraction_of_peak / peer.fraction_of_peak
    is_bound = peer.held_back is not None
    return Speedup(own.kernel, peer.contestant, ratio, own.contestant, is_bound)


def by_peer(speedups: Iterable[Speedup]) -> list[Sequence[Speedup]]:
    """Group speedups by the other contestant."""
    groups: dict[str, list[Speedup]] = {}
    for speedup in speedups:
        groups.setdefault(speedup.over, []).append(speedup)
    return list(groups.values())


def geometric_mean(ratios: Iterable[float]) -> float:
    """The geometric mean of positive ratios."""
    values = list(ratios)
    if not values:
        raise BenchError("no work was raced against a peer, so there is no mean of ratios")
    return statistics.geometric_mean(values)


def geometric_means(speedups: Iterable[Speedup]) -> dict[str, float]:
    """The geometric mean of the speedups over each contestant, by its name."""
    return {
        group[0].over: geometric_mean(speedup.ratio for speedup in group)
        for group in by_peer(speedups)
    }
