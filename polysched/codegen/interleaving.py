"""Split vectors in memory order into vectors of every n-th element, and join them again.

Consecutive rows of n elements are n vectors. They are split by the prime factors of n, one after
the other. Splitting by a factor f takes f - 1 shuffles for each vector: the first one selects from
two vectors, each other one adds the elements of one more vector. A transposition would load row by
row instead. Joining is the inverse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from polysched.codegen.intrinsics import shuffled
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


def emit_interleaving(
    builder: ir.IRBuilder, vectors: Sequence[Any], kind: Interleaving
) -> list[Any]:
    """The vectors, split or joined."""
    count = len(vectors)
    factor = _least_factor(count)
    if factor == count:
        return _at_once(builder, vectors, kind)
    if kind is Interleaving.SPLIT:
        # Of each class of remainders by the factor, the vectors in their order.
        parts = [
            _at_once(builder, vectors[first : first + factor], kind)
            for first in range(0, count, factor)
        ]
        classes = [emit_interleaving(builder, one, kind) for one in zip(*parts, strict=True)]
        return [classes[number % factor][number // factor] for number in range(count)]
    classes = [emit_interleaving(builder, vectors[first::factor], kind) for first in range(factor)]
    joined = [_at_once(builder, one, kind) for one in zip(*classes, strict=True)]
    return [vector for part in joined for vector in part]


def _at_once(builder: ir.IRBuilder, vectors: Sequence[Any], kind: Interleaving) -> list[Any]:
    """By one shuffle less than there are vectors for each of them."""
    count, lanes = len(vectors), vectors[0].type.count
    of = origin(kind, count, lanes)

    def made(number: int) -> Any:
        origins = [of(number, lane) for lane in range(lanes)]
        # Where the elements that are there so far stand: in the first vector at first, then in
        # their places. Lanes whose elements come later may hold anything.
        places = [at if vector == 0 else lane for lane, (vector, at) in enumerate(origins)]
        result = vectors[0]
        for position in range(1, count):
            mask = [
                lanes + at if vector == position else place
                for place, (vector, at) in zip(places, origins, strict=True)
            ]
            result = shuffled(builder, result, vectors[position], mask)
            places = list(range(lanes))
        return result

    return [made(number) for number in range(count)]


def is_cheapest(count: int, lanes: int) -> bool:
    """Whether it takes no more shuffles than a network takes loads of rows and shuffles.

    Of large primes it takes more: of thirteen vectors 156.
    """
    shuffles, left = 0, count
    while left > 1:
        factor = _least_factor(left)
        shuffles += count * (factor - 1)
        left //= factor
    stages = (count - 1).bit_length()
    return shuffles <= lanes + (stages << stages)


def _least_factor(count: int) -> int:
    return next((factor for factor in range(2, count) if count % factor == 0), count)
