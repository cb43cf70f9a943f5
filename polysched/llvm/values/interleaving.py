"""Split vectors in memory order into vectors of every n-th element, and join them again.

Consecutive rows of n elements fill n vectors. The vectors are split by the prime factors of n in
turn. Splitting by a factor f takes f - 1 shuffles for each vector: the first shuffle selects from
two vectors, and each further shuffle adds the elements of another vector. A transposition would
load row by row instead. Joining is the inverse of splitting.
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
    """Split or join vectors."""
    count = len(vectors)
    factor = least_factor(count)
    if factor == count:
        return _at_once(builder, vectors, kind)
    if kind is Interleaving.SPLIT:
        # For each remainder by the factor, the vectors of this class in order.
        parts = [
            _at_once(builder, vectors[first : first + factor], kind)
            for first in range(0, count, factor)
        ]
        classes = [
            emit_interleaving(builder, vectors_of_class, kind)
            for vectors_of_class in zip(*parts, strict=True)
        ]
        return [classes[number % factor][number // factor] for number in range(count)]
    classes = [emit_interleaving(builder, vectors[first::factor], kind) for first in range(factor)]
    joined = [
        _at_once(builder, parts_of_joined, kind) for parts_of_joined in zip(*classes, strict=True)
    ]
    return [vector for part in joined for vector in part]


def _at_once(builder: ir.IRBuilder, vectors: Sequence[Any], kind: Interleaving) -> list[Any]:
    """Split or join n vectors by n - 1 shuffles for each result."""
    count, lanes = len(vectors), vectors[0].type.count
    of = origin(kind, count, lanes)

    def merged(number: int) -> Any:
        origins = [of(number, lane) for lane in range(lanes)]
        # The current lanes of the elements merged so far: their lanes in the first vector at first,
        # then their final lanes. Lanes of elements that are merged later are undefined.
        sources = [at if vector == 0 else lane for lane, (vector, at) in enumerate(origins)]
        result = vectors[0]
        for position in range(1, count):
            mask = [
                lanes + at if vector == position else source
                for source, (vector, at) in zip(sources, origins, strict=True)
            ]
            result = shuffled(builder, result, vectors[position], mask)
            sources = list(range(lanes))
        return result

    return [merged(number) for number in range(count)]
