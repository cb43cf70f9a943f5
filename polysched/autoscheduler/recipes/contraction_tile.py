"""The register tile of a contraction: chosen by counting FMAs, loads and registers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

from polysched.autoscheduler.recipes.contraction_loops import Contraction
from polysched.machine.contraction_model import (
    TileStep,
    cheapest_tile,
    pieces,
    tallest_tile,
    tile_cycles,
)
from polysched.machine.description import Machine
from polysched.schedule.primitives.vectorize import LARGEST_LANES

MOST_VECTORS = 8
"""Vectors side by side, at most."""
NEAREST_LOOPS = 4
"""Loops whose iterations are considered for the rows of a tile, the innermost of the target."""


@dataclass(frozen=True)
class RegisterTile:
    """Accumulators that stay in registers while the reduction runs.

    Attributes:
        lanes_loop: the loop whose iterations are lanes.
        vectors: vectors side by side.
        rows: other loops with the iterations of each that the tile holds.
    """

    lanes_loop: str
    lanes: int
    vectors: int
    rows: tuple[tuple[str, int], ...]

    @property
    def columns(self) -> int:
        """Iterations of the loop of the lanes that the tile holds."""
        return self.lanes * self.vectors

    @property
    def height(self) -> int:
        """Copies of a vector of lanes."""
        return math.prod(factor for _, factor in self.rows)

    @property
    def accumulators(self) -> int:
        """Vectors of sums."""
        return self.height * self.vectors


def register_tile_of(
    contraction: Contraction, lanes_loop: str, machine: Machine
) -> RegisterTile | None:
    """Choose the register tile by the cost model of contractions."""
    tiles = list(_tiles(contraction, lanes_loop, machine))
    if not tiles:
        return None
    return cheapest_tile(
        tiles,
        [contraction_cycles(contraction, tile, machine) for tile in tiles],
        kinds=lambda tile: _kinds(contraction, tile),
        loads=lambda tile: _loads(contraction, tile) / tile.accumulators,
    )


def _tiles(contraction: Contraction, lanes_loop: str, machine: Machine) -> Iterator[RegisterTile]:
    # Use a shorter vector for a few columns, instead of a masked part of a long one.
    columns = contraction.trip(lanes_loop)
    lanes = min(LARGEST_LANES, machine.vector_bits // contraction.facts.element_bits)
    lanes = min(lanes, max(2, 1 << (columns - 1).bit_length()))
    tallest = tallest_tile(machine)
    rows = [
        loop
        for loop in sorted(contraction.free, key=lambda name: abs(_step(contraction, name)))
        if loop != lanes_loop and contraction.reused_along(loop)
    ][:NEAREST_LOOPS]
    widest = min(MOST_VECTORS, -(-columns // lanes))
    for vectors in range(1, widest + 1):
        for count in range(min(2, len(rows)) + 1):
            for chosen in combinations(rows, count):
                heights = [range(2, min(tallest, contraction.trip(loop)) + 1) for loop in chosen]
                for factors in product(*heights):
                    tile = RegisterTile(
                        lanes_loop, lanes, vectors, tuple(zip(chosen, factors, strict=True))
                    )
                    if _registers(contraction, tile) <= machine.vector_registers:
                        yield tile


def _step(contraction: Contraction, loop: str) -> int:
    return contraction.target.stride(loop) or 0


def _registers(contraction: Contraction, tile: RegisterTile) -> int:
    """The sums, the vectors of one step that all rows share, and one more operand."""
    shared = [
        tile.vectors
        for operand in contraction.operands
        if operand.depends_on(tile.lanes_loop)
        and not all(operand.depends_on(loop) for loop, _ in tile.rows)
    ]
    return tile.accumulators + max(shared, default=0) + 1


def _loads(contraction: Contraction, tile: RegisterTile) -> float:
    """Loads of one step: single elements, and vectors."""
    total = 0.0
    for operand in contraction.operands:
        copies = math.prod(f for loop, f in tile.rows if operand.depends_on(loop))
        is_vector = operand.depends_on(tile.lanes_loop)
        total += copies * (tile.vectors if is_vector else 1.0)
    return total


def contraction_cycles(contraction: Contraction, tile: RegisterTile, machine: Machine) -> float:
    """Model the cycles of all register tiles of the contraction."""
    panel = contraction.terms * tile.columns * contraction.target.bytes
    tiled = {loop for loop, _ in tile.rows} | {tile.lanes_loop}
    others = contraction.extent(tuple(loop for loop in contraction.free if loop not in tiled))
    parts = [[(loop, *piece) for piece in _pieces(contraction, loop, f)] for loop, f in tile.rows]
    total = 0.0
    for width, width_count in _pieces(contraction, tile.lanes_loop, tile.columns):
        for rows in product(*parts):
            part = RegisterTile(
                tile.lanes_loop,
                tile.lanes,
                -(-width // tile.lanes),
                tuple((loop, size) for loop, size, _ in rows),
            )
            count = width_count * math.prod(times for _, _, times in rows)
            step = _step_of(contraction, part)
            total += count * tile_cycles(step, contraction.terms, panel, machine)
    return others * total


def _step_of(contraction: Contraction, tile: RegisterTile) -> TileStep:
    vectors = sum(
        tile.vectors * math.prod(f for loop, f in tile.rows if operand.depends_on(loop))
        for operand in contraction.operands
        if operand.depends_on(tile.lanes_loop)
    )
    return TileStep(
        tile.accumulators,
        tile.accumulators * contraction.operations,
        _loads(contraction, tile),
        vectors,
        chains=len(contraction.statements),
    )


def _pieces(contraction: Contraction, loop: str, tile: int) -> list[tuple[int, int]]:
    return pieces(contraction.trip(loop), tile)


def _kinds(contraction: Contraction, tile: RegisterTile) -> int:
    kinds = len(_pieces(contraction, tile.lanes_loop, tile.columns))
    for loop, factor in tile.rows:
        kinds *= len(_pieces(contraction, loop, factor))
    return kinds
