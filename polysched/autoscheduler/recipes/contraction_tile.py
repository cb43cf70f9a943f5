"""The register tile of a contraction: chosen by counting FMAs, loads and registers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

from polysched.autoscheduler.recipes.contraction_loops import Contraction
from polysched.machine.description import Machine
from polysched.schedule.primitives.vectorize import LARGEST_LANES

DISTANT_VECTOR = 6
"""L1 loads that take as long as one L2 load, when a panel exceeds half of the L1 cache."""
TILE_CYCLES = 24
"""Cycles to start and end a register tile: loop control and one mispredicted branch."""
TOLERANCE = 0.02
"""Relative difference of modeled cycles up to which tiles count as equally fast."""
MOST_VECTORS = 8
"""Vectors side by side, at most."""
NEAREST_LOOPS = 4
"""Loops whose iterations are considered for the rows of a tile, the innermost of the target."""
DEFAULT_WAYS = 8
"""Ways of the first-level cache of a machine without a known one."""


@dataclass(frozen=True)
class RegisterTile:
    """Accumulators that stay in registers while the reduction runs.

    Attributes:
        lanes_loop: the loop whose iterations are lanes.
        lanes: lanes of a vector.
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
    """Choose the register tile with the fewest modeled cycles.

    Among the tiles within ``TOLERANCE`` of the fewest cycles, take the one with the fewest kinds of
    partial tiles, since each is a separate copy of the code; then the one with the fewest loads.
    """
    tiles = list(_tiles(contraction, lanes_loop, machine))
    if not tiles:
        return None
    cycles = [tile_cycles(contraction, tile, machine) for tile in tiles]
    most = min(cycles) * (1 + TOLERANCE)
    return min(
        (tile for tile, taken in zip(tiles, cycles, strict=True) if taken <= most),
        key=lambda tile: (_kinds(contraction, tile), _loads(contraction, tile) / tile.accumulators),
    )


def _tiles(contraction: Contraction, lanes_loop: str, machine: Machine) -> Iterator[RegisterTile]:
    # Use a shorter vector for a few columns, instead of a masked part of a long one.
    columns = contraction.trip(lanes_loop)
    lanes = min(LARGEST_LANES, machine.vector_bits // contraction.facts.element_bits)
    lanes = min(lanes, max(2, 1 << (columns - 1).bit_length()))
    nearest = machine.cache(1)
    # The rows of an operand may all fall into one set of the first-level cache.
    ways = nearest.associativity if nearest else DEFAULT_WAYS
    rows = [
        loop
        for loop in sorted(contraction.free, key=lambda one: abs(_step(contraction, one)))
        if loop != lanes_loop and contraction.reused_along(loop)
    ][:NEAREST_LOOPS]
    widest = min(MOST_VECTORS, -(-columns // lanes))
    for vectors in range(1, widest + 1):
        for count in range(min(2, len(rows)) + 1):
            for chosen in combinations(rows, count):
                heights = [range(2, min(ways, contraction.trip(loop)) + 1) for loop in chosen]
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


def _loads(contraction: Contraction, tile: RegisterTile, vector_cost: float = 1.0) -> float:
    """Loads of one step: single elements, and vectors."""
    total = 0.0
    for operand in contraction.operands:
        copies = math.prod(f for loop, f in tile.rows if operand.depends_on(loop))
        is_vector = operand.depends_on(tile.lanes_loop)
        total += copies * (tile.vectors * vector_cost if is_vector else 1.0)
    return total


def tile_cycles(contraction: Contraction, tile: RegisterTile, machine: Machine) -> float:
    """Model the cycles of all register tiles of the contraction.

    A step of a tile takes as long as the slowest of its FMAs, its loads and the FMA latency. A
    panel of columns that exceeds half of the L1 cache is loaded at ``1 / DISTANT_VECTOR`` of the
    rate. The model starts as many loads a cycle as FMAs.
    """
    nearest = machine.cache(1)
    panel = contraction.terms * tile.columns * contraction.target.bytes
    distant = DISTANT_VECTOR if nearest and panel > nearest.bytes // 2 else 1
    tiled = {loop for loop, _ in tile.rows} | {tile.lanes_loop}
    others = contraction.extent(tuple(loop for loop in contraction.free if loop not in tiled))
    pieces = [[(loop, *piece) for piece in _pieces(contraction, loop, f)] for loop, f in tile.rows]
    columns = _pieces(contraction, tile.lanes_loop, tile.columns)
    total = 0.0
    for width, width_count in columns:
        for rows in product(*pieces):
            part = RegisterTile(
                tile.lanes_loop,
                tile.lanes,
                -(-width // tile.lanes),
                tuple((loop, size) for loop, size, _ in rows),
            )
            count = width_count * math.prod(times for _, _, times in rows)
            total += count * _cycles(contraction, part, distant, machine)
    return others * total


def _cycles(contraction: Contraction, tile: RegisterTile, distant: int, machine: Machine) -> float:
    vectors = sum(
        tile.vectors * math.prod(f for loop, f in tile.rows if operand.depends_on(loop))
        for operand in contraction.operands
        if operand.depends_on(tile.lanes_loop)
    )
    arithmetic = tile.accumulators * contraction.operations
    loads = max(_loads(contraction, tile), distant * vectors)
    chain = machine.fma_latency * machine.fma_units * len(contraction.statements)
    step = max(arithmetic, loads, chain) / machine.fma_units
    return contraction.terms * step + TILE_CYCLES + tile.accumulators


def _pieces(contraction: Contraction, loop: str, tile: int) -> list[tuple[int, int]]:
    """The sizes of the full and the partial tiles along a loop, with their counts."""
    full, rest = divmod(contraction.trip(loop), tile)
    return [(size, count) for size, count in ((tile, full), (rest, 1)) if size and count]


def _kinds(contraction: Contraction, tile: RegisterTile) -> int:
    kinds = len(_pieces(contraction, tile.lanes_loop, tile.columns))
    for loop, factor in tile.rows:
        kinds *= len(_pieces(contraction, loop, factor))
    return kinds
