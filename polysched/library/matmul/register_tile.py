"""The register tile: a model of the cycles that a product takes with it, and the choice by that."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, gcd

from polysched.ir.cache_lines import LINE_BYTES
from polysched.ir.dtypes import DType
from polysched.library.matmul.config import Config, part_of, registers_needed
from polysched.library.matmul.kernel import Sizes
from polysched.library.matmul.problem import Problem
from polysched.machine.description import Machine

DISTANT_VECTOR = 6
"""Loads from the nearest cache that take as long as one from the next, row after row."""

FAR_LINE = 1
"""Cycles that a cache line of ``a`` costs beside the FMAs, where it comes from behind the second
cache: the rows of a tile are so many short streams.
"""

TOLERANCE = 0.02
"""Tiles whose modeled cycles differ by less are taken to be equally fast."""

CROWDED_ROW = 40
"""Cycles to write a line of sums where others wait for the same set of a cache, one after the
other, while the next tile is computed.
"""

TILE_OVERHEAD = 24
"""Cycles to start and end a register tile: loop control, one mispredicted branch."""


def part_sizes(config: Config, sizes: Sizes) -> Sizes:
    """What a thread has of a product."""
    return Sizes(*(part_of(config, d, extent) for d, extent in zip("mnk", sizes[:3], strict=True)))


def with_register_tile(config: Config, problem: Problem, machine: Machine) -> Config:
    """The tile that suits the parts of threads best.

    Of the tiles that take nearly the fewest cycles, the one with the fewest kinds of partial tiles
    (each is code of its own), then with the fewest loads for an FMA. A tile has no more rows than a
    set of the nearest cache has ways, since the rows of ``a`` may all fall into one set.
    """
    total, sizes = problem.total, problem.sizes
    lanes = machine.lanes(total.bits)
    nearest = machine.cache(1)
    rows = min(sizes.m, nearest.associativity if nearest else 8)
    vectors = -(-sizes.n // lanes)
    candidates = [
        candidate
        for height in range(1, rows + 1)
        for width in range(1, min(vectors, machine.vector_registers) + 1)
        if (candidate := replace(config, inner_m=height, inner_n=width * lanes))
        and registers_needed(candidate, machine, total) <= machine.vector_registers
    ]
    places = row_places(problem, machine)
    cycles = [tile_cycles(one, sizes, total, machine, places) for one in candidates]
    few = min(cycles) * (1 + TOLERANCE)

    def rank(candidate: Config) -> tuple[int, float]:
        height, width = candidate.inner_m, candidate.inner_n // lanes
        part = part_sizes(candidate, sizes)
        kinds = len(_pieces(part.m, height)) * len(_pieces(part.n, candidate.inner_n))
        return kinds, (height + width) / (height * width)

    return min((c for c, taken in zip(candidates, cycles, strict=True) if taken <= few), key=rank)


def row_places(problem: Problem, machine: Machine) -> int | None:
    """How many sets of the first cache the starts of rows of the result fall into.

    None if they are spread, or all of the result has its place in that cache.
    """
    first = machine.cache(1)
    if first is None:
        return None
    element, sizes = problem.total.bytes, problem.sizes
    way = first.bytes // first.associativity
    places = way // gcd(problem.leading_out * element, way)
    return places if places <= 4 and sizes.m * sizes.n * element > first.bytes else None


def tile_cycles(
    config: Config, sizes: Sizes, total: DType, machine: Machine, places: int | None = None
) -> int:
    """Cycles for all register tiles of a thread: what its FMAs, their operands or the latency take,
    or to write the sums where rows of the result meet in so many ``places`` of the first cache.

    A machine with so many FMA units is taken to load as many vectors a cycle from the nearest
    cache; a panel of ``b`` that does not fit there comes at a fraction of that, while the rest is
    computed. An ``a`` that leaves the second cache little place comes anew for each panel.
    """
    part = part_sizes(config, sizes)
    panel_bytes = part.k * config.inner_n * total.bytes
    row_cost = 1 if panel_bytes <= cache_bytes(machine, 1) // 2 else DISTANT_VECTOR
    is_far = part.m * part.k * total.bytes >= cache_bytes(machine, 2) // 2
    row_lines = total.bytes / LINE_BYTES if is_far else 0
    lanes = machine.lanes(total.bits)
    columns = [(-(-n // lanes), count) for n, count in _pieces(part.n, config.inner_n)]
    cycles = 0.0
    for rows, row_count in _pieces(part.m, config.inner_m):
        for vectors, column_count in columns:
            sums = rows * vectors
            loads = max(rows + vectors, row_cost * vectors)
            busiest = max(sums, loads, machine.fma_latency * machine.fma_units)
            far = rows * row_lines * FAR_LINE * machine.fma_units
            once = TILE_OVERHEAD * machine.fma_units + sums
            meeting = 0 if places is None else -(-rows // places)
            writing = meeting * CROWDED_ROW * machine.fma_units
            computing = part.k * (busiest + far) + once
            cycles += row_count * column_count * max(computing, writing)
    return ceil(cycles / machine.fma_units)


def _pieces(extent: int, tile: int) -> list[tuple[int, int]]:
    """The sizes of tiles along a dimension, and how many have each."""
    full, rest = divmod(extent, tile)
    return [(size, count) for size, count in ((tile, full), (rest, 1)) if size and count]


def cache_bytes(machine: Machine, level: int) -> int:
    """The bytes of a level of cache, or of the next below that the machine has."""
    for candidate in range(level, 0, -1):
        cache = machine.cache(candidate)
        if cache is not None:
            return cache.bytes
    return 32 * 1024
