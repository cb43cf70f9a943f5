"""Interleaved vectors: conversion between memory order and vectors of every n-th element.

Consecutive rows of n elements fill n vectors. The vectors are split by the prime factors of n in
turn. Splitting by a factor f takes f - 1 shuffles for each vector. A transposition would load row
by row instead. Joining is the inverse of splitting.
"""

from __future__ import annotations

from collections.abc import Callable

from polysched.loops.ir.nodes import Interleaving

Origin = Callable[[int, int], tuple[int, int]]
"""Map the vector number and lane of a result to the vector number and lane of its source."""


def origin(kind: Interleaving, count: int, lanes: int) -> Origin:
    """Return the map from each element of the result to its source.

    Args:
        kind: split or join.
        count: the number of vectors.
        lanes: the number of lanes of each vector.
    """

    def split(number: int, lane: int) -> tuple[int, int]:
        return divmod(count * lane + number, lanes)

    def join(number: int, lane: int) -> tuple[int, int]:
        position = number * lanes + lane
        return position % count, position // count

    return split if kind is Interleaving.SPLIT else join


def is_cheapest(count: int, lanes: int) -> bool:
    """Whether interleaving takes at most as many shuffles as a network takes loads and shuffles.

    Interleaving takes more if the number of vectors has a large prime factor: 13 vectors take 156
    shuffles.
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
