"""Interleaved vectors: vectors in memory order, and vectors of every n-th element of them.

Consecutive rows of n elements are n vectors. They are split by the prime factors of n, one after
the other. Splitting by a factor f takes f - 1 shuffles for each vector. A transposition would load
row by row instead. Joining is the inverse.
"""

from __future__ import annotations

from collections.abc import Callable

from polysched.loops.ir.nodes import Interleaving

Origin = Callable[[int, int], tuple[int, int]]
"""From the number of a vector that is made, and a lane, to those that the element comes from."""


def origin(kind: Interleaving, count: int, lanes: int) -> Origin:
    """Where each element comes from.

    Args:
        kind: split or join.
        count: of vectors.
        lanes: of each.
    """

    def split(number: int, lane: int) -> tuple[int, int]:
        return divmod(count * lane + number, lanes)

    def join(number: int, lane: int) -> tuple[int, int]:
        place = number * lanes + lane
        return place % count, place // count

    return split if kind is Interleaving.SPLIT else join


def is_cheapest(count: int, lanes: int) -> bool:
    """Whether it takes no more shuffles than a network takes loads of rows and shuffles.

    Of large primes it takes more: of thirteen vectors 156.
    """
    shuffles, left = 0, count
    while left > 1:
        factor = least_factor(left)
        shuffles += count * (factor - 1)
        left //= factor
    stages = (count - 1).bit_length()
    return shuffles <= lanes + (stages << stages)


def least_factor(count: int) -> int:
    """The least prime factor of a number of vectors."""
    return next((factor for factor in range(2, count) if count % factor == 0), count)
