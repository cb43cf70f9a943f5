"""Emit transpositions of register tiles, and split or join interleaved vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any, TypeAlias

from llvmlite import ir

from polysched.ir.core.tree import TransposeStrategy
from polysched.llvm.builder.intrinsics import element_bits, fenced, shuffled
from polysched.loops.ir.nodes import Interleaving
from polysched.vector.interleaved import least_factor, origin
from polysched.vector.ir import Transpose
from polysched.vector.shuffle_network import run_network, transpose_network

INT32 = ir.IntType(32)
ROOMY = "avx512f"
"""The processor feature with 32 vector registers; processors without it have 16."""

MOST_FENCED = 16
"""Fence the stages of tiles with at most this many registers, which is half of 32."""

Transposing: TypeAlias = Callable[[ir.IRBuilder, list[Any], Set[str]], list[Any]]
"""Emit the columns of a tile from its rows and the processor features."""


def emit_transposition(
    builder: ir.IRBuilder, rows: list[Any], node: Transpose, features: Set[str] = frozenset()
) -> list[Any]:
    """Emit the columns of a tile from its rows and the processor features."""
    if node.interleaving is not None:
        return emit_interleaving(builder, rows, node.interleaving)
    return _STRATEGIES[node.strategy](builder, rows, features)


def _by_elements(builder: ir.IRBuilder, rows: list[Any], features: Set[str]) -> list[Any]:
    """Extract and insert each element."""
    type_ = ir.VectorType(rows[0].type.element, len(rows))
    columns = []
    for column in range(rows[0].type.count):
        vector: Any = ir.Constant(type_, ir.Undefined)
        for number, row in enumerate(rows):
            element = builder.extract_element(row, INT32(column))
            vector = builder.insert_element(vector, element, INT32(number))
        columns.append(vector)
    return columns


def _by_one_shuffle(builder: ir.IRBuilder, rows: list[Any], features: Set[str]) -> list[Any]:
    """Permute the tile, as one vector, by one shuffle."""
    row_count, column_count = len(rows), rows[0].type.count
    mask = [
        row * column_count + column for column in range(column_count) for row in range(row_count)
    ]
    whole = _joined(builder, rows)
    permuted = shuffled(builder, whole, whole, mask)
    return [_cut(builder, permuted, column, column_count) for column in range(column_count)]


def _by_network(builder: ir.IRBuilder, rows: list[Any], features: Set[str]) -> list[Any]:
    """Transpose by stages of two-input shuffles, each a single instruction.

    LLVM would search all earlier stages to simplify each shuffle, which takes two thirds of the
    compile time. Fences between the stages prevent the search: after every stage for bytes, which
    have more stages, and after every other stage for wider elements. A fence emits no instruction,
    but forces the values of a stage into registers, so only small tiles are fenced.
    """
    type_ = rows[0].type
    bits = element_bits(type_)
    network = transpose_network(len(rows), type_.count, bits)
    has_spare = ROOMY in features and len(network.joined) <= MOST_FENCED
    period = 1 if bits < 16 else 2

    def between(stage: int, registers: list[Any]) -> list[Any]:
        if not has_spare or stage % period:
            return registers
        return [fenced(builder, register) for register in registers]

    return run_network(
        network,
        rows,
        join=lambda vectors: _joined(builder, vectors),
        shuffle=lambda first, second, mask: shuffled(builder, first, second, mask),
        cut=lambda vector, part, parts: _cut(builder, vector, part, parts),
        between=between,
    )


_STRATEGIES: Mapping[TransposeStrategy, Transposing] = MappingProxyType(
    {
        TransposeStrategy.ELTWISE: _by_elements,
        TransposeStrategy.SHUFFLE_1D: _by_one_shuffle,
        TransposeStrategy.NETWORK: _by_network,
    }
)


def _joined(builder: ir.IRBuilder, vectors: Sequence[Any]) -> Any:
    """Concatenate vectors of equal length; their number is a power of two."""
    given = list(vectors)
    while len(given) > 1:
        mask = range(2 * given[0].type.count)
        given = [
            shuffled(builder, first, second, mask)
            for first, second in zip(given[::2], given[1::2], strict=True)
        ]
    return given[0]


def _cut(builder: ir.IRBuilder, vector: Any, part: int, parts: int) -> Any:
    if parts == 1:
        return vector
    length = vector.type.count // parts
    return shuffled(builder, vector, vector, range(part * length, (part + 1) * length))


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
