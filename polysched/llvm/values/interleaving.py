"""Split vectors in memory order into vectors of every n-th element, and join them again.

Consecutive rows of n elements are n vectors. They are split by the prime factors of n, one after
the other. Splitting by a factor f takes f - 1 shuffles for each vector: the first one selects from
two vectors, each other one adds the elements of one more vector. A transposition would load row by
row instead. Joining is the inverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from polysched.llvm.builder.intrinsics import shuffled
from polysched.loops.ir.nodes import Interleaving
from polysched.vector.interleaved import least_factor, origin


def emit_interleaving(
    builder: ir.IRBuilder, vectors: Sequence[Any], kind: Interleaving
) -> list[Any]:
    """The vectors, split or joined."""
    count = len(vectors)
    factor = least_factor(count)
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
