"""Networks of two-input shuffles that transpose a tile of vectors, for any power-of-two size.

An element is in row ``l`` and column ``u``. At first the rows are registers and the columns are
lanes; at the end the columns are registers and the rows are lanes. A stage exchanges one bit of the
register number for one bit of the lane number:

- inside blocks of 128 bits, stage ``m`` interleaves groups of ``2**m`` lanes of two registers (the
  ``unpack`` instructions): the register's bit becomes bit ``m`` of the lane, the bits from there on
  move up by one, and the top bit of the block goes to the register;
- between blocks, a stage takes every other block of one register and then of the other
  (``shuf32x4``, for two blocks ``perm2x128``): the lowest bit of the block goes to the register,
  the others move down, and the register's bit becomes the top one.

If a tile has fewer columns than rows, each register starts with several rows joined. This costs
loads with an insert and saves the stages that would bring these rows together. If a tile has more
columns than rows, each register is cut into several columns at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from polysched.errors import LoweringError

BLOCK_BITS = 128
"""Bits of the blocks within which the cheap shuffles move lanes."""

Vector = TypeVar("Vector")


@dataclass(frozen=True)
class Shuffle:
    """A shuffle: lane ``i`` is lane ``mask[i]`` of ``first`` followed by ``second``."""

    first: int
    second: int
    mask: tuple[int, ...]


@dataclass(frozen=True)
class Piece:
    """A column after the last stage: part ``part`` of a register that is cut into equal parts."""

    register: int
    part: int


@dataclass(frozen=True)
class Network:
    """A network that transposes ``rows`` vectors of ``columns`` lanes.

    Attributes:
        joined: for each register, the rows that are concatenated in it at first.
        stages: the shuffles of each stage, from the registers of the previous stage.
        parts: the number of parts into which a register is cut after the last stage.
        pieces: for each column, its location after the last stage.
    """

    joined: tuple[tuple[int, ...], ...]
    stages: tuple[tuple[Shuffle, ...], ...]
    parts: int
    pieces: tuple[Piece, ...]

    @property
    def shuffles(self) -> int:
        """The number of two-input shuffles, without joining and cutting."""
        return sum(map(len, self.stages))


@lru_cache(maxsize=64)
def transpose_network(rows: int, columns: int, bits: int) -> Network:
    """Build the network for a tile of elements of ``bits`` bits.

    16 x 16 of 32 bits takes 64 shuffles, 8 x 8 of 64 bits 24.

    Args:
        rows: the number of input vectors, and of lanes of an output vector.
        columns: the number of lanes of an input vector, and of output vectors.
        bits: the bits of an element, at most 128.
    """
    _require_power("rows", rows)
    _require_power("columns", columns)
    _require_power("bits", bits, BLOCK_BITS)
    row_bits, column_bits = _log2(rows), _log2(columns)
    register_bits = min(row_bits, column_bits)
    inside = min(register_bits, _log2(BLOCK_BITS // bits))
    lane_bits = max(row_bits, column_bits)
    # Between blocks, the initially joined rows move down below the rows that the stages add.
    apart = lane_bits - (register_bits - inside) if rows >= columns else register_bits
    of_part = range(inside, apart) if rows > columns else range(0)
    of_register = [*range(inside), *range(apart, row_bits)] if rows > columns else range(row_bits)
    moves = [
        (inside - 1, position)
        if position < inside
        else ((inside, lane_bits - 1) if rows >= columns else (position, position))
        for position in range(register_bits)
    ]
    joined = tuple(
        tuple(
            _spread(register, of_register) | _spread(part, of_part)
            for part in range(max(1, rows // columns))
        )
        for register in range(1 << register_bits)
    )
    stages = tuple(
        _stage(1 << register_bits, 1 << lane_bits, position, out, into)
        for position, (out, into) in enumerate(moves)
    )
    # For each bit of the lane, the bit of the column that it holds; -1 stands for a bit of the row.
    in_lane = [*range(column_bits), *(-1 for _ in of_part)]
    in_register = []
    for out, into in moves:
        in_register.append(in_lane.pop(out))
        in_lane.insert(into, -1)
    pieces = tuple(
        Piece(_gathered(column, in_register), column >> register_bits) for column in range(columns)
    )
    return Network(joined, stages, max(1, columns // rows), pieces)


def run_network(
    network: Network,
    rows: Sequence[Vector],
    join: Callable[[Sequence[Vector]], Vector],
    shuffle: Callable[[Vector, Vector, tuple[int, ...]], Vector],
    cut: Callable[[Vector, int, int], Vector],
    between: Callable[[int, list[Vector]], list[Vector]] = lambda stage, registers: registers,
) -> list[Vector]:
    """Apply a network to the rows of a tile, and return the columns.

    Args:
        join: concatenates vectors.
        shuffle: selects lanes of two vectors by a mask.
        cut: extracts a part of a vector, given its position and the number of parts.
        between: transforms the registers before each stage, given the number of the stage.
    """
    registers = [join([rows[row] for row in part]) for part in network.joined]
    for number, stage in enumerate(network.stages):
        if number:
            registers = between(number, registers)
        registers = [
            shuffle(registers[step.first], registers[step.second], step.mask) for step in stage
        ]
    return [cut(registers[piece.register], piece.part, network.parts) for piece in network.pieces]


def _require_power(unit: str, size: int, largest: int | None = None) -> None:
    if size < 1 or size & (size - 1) or (largest is not None and size > largest):
        limit = "" if largest is None else f" up to {largest}"
        raise LoweringError(
            f"a transposing network has {size} {unit}; expected a power of two{limit}"
        )


def _log2(power: int) -> int:
    return power.bit_length() - 1


def _stage(registers: int, lanes: int, position: int, out: int, into: int) -> tuple[Shuffle, ...]:
    """The shuffles that move bit ``position`` of the register number to bit ``into`` of the lane
    number, and bit ``out`` of the lane number back.
    """
    shuffles = []
    for register in range(registers):
        given = (register >> position) & 1
        first = register & ~(1 << position)
        mask = tuple(
            ((lane >> into) & 1) * lanes + _inserted(_removed(lane, into), out, given)
            for lane in range(lanes)
        )
        shuffles.append(Shuffle(first, first | 1 << position, mask))
    return tuple(shuffles)


def _removed(number: int, bit: int) -> int:
    """Remove a bit of a number, and move the higher bits down."""
    return (number >> (bit + 1) << bit) | (number & ((1 << bit) - 1))


def _inserted(number: int, bit: int, value: int) -> int:
    """Insert a bit into a number, and move the higher bits up."""
    return (number >> bit << (bit + 1)) | (value << bit) | (number & ((1 << bit) - 1))


def _spread(number: int, bits: Sequence[int]) -> int:
    """The number whose bit ``bits[i]`` is bit ``i`` of ``number``."""
    return sum(((number >> position) & 1) << bit for position, bit in enumerate(bits))


def _gathered(number: int, bits: Sequence[int]) -> int:
    """The number whose bit ``i`` is bit ``bits[i]`` of ``number``."""
    return sum(((number >> bit) & 1) << position for position, bit in enumerate(bits))
