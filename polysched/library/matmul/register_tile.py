"""Cost model of the register tile, and the choice of the tile by it."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, gcd

from polysched.ir.core.cache_lines import LINE_BYTES
from polysched.ir.expr.dtypes import DType
from polysched.library.matmul.config import Config, part_of, registers_needed
from polysched.library.matmul.kernel import Sizes
from polysched.library.matmul.problem import Problem
from polysched.machine.description import Machine

DISTANT_VECTOR = 6
"""L1 loads that take as long as one L2 load, when a panel of ``b`` exceeds half of the L1 cache."""

FAR_LINE = 1
"""Cycles for a cache line of ``a`` beside the FMAs, when ``a`` fills half of the L2 cache or more.

The rows of a tile are as many short streams, which hardware prefetchers do not hide. Measured on
AMD Zen 5: about a cycle a line, so that 6 rows by 4 vectors beat 8 by 3 by 1 to 2 % at 1024^3
(``notes/performance.md``).
"""

TOLERANCE = 0.02
"""Relative difference of modeled cycles up to which tiles count as equally fast."""

CROWDED_ROW = 40
"""Cycles to write a cache line of sums when the rows of the result compete for the same cache set.

The lines are written one after the other while the next tile is computed.
"""

TILE_OVERHEAD = 24
"""Cycles to start and end a register tile: loop control and one mispredicted branch."""


def part_sizes(config: Config, sizes: Sizes) -> Sizes:
    """The sizes of the largest part of a product."""
    return Sizes(*(part_of(config, d, extent) for d, extent in zip("mnk", sizes[:3], strict=True)))


def with_register_tile(config: Config, problem: Problem, machine: Machine) -> Config:
    """Choose the register tile for the parts of threads.

    Among the tiles whose modeled cycles are within ``TOLERANCE`` of the fewest, take the one with
    the fewest kinds of partial tiles, since each is a separate copy of the code; then the one with
    the fewest loads per FMA. A tile has at most as many rows as an L1 cache set has ways, because
    the rows of ``a`` may all fall into one set.
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
    sets = row_sets(problem, machine)
    cycles = [tile_cycles(tile, sizes, total, machine, sets) for tile in candidates]
    most = min(cycles) * (1 + TOLERANCE)

    def rank(candidate: Config) -> tuple[int, float]:
        height, width = candidate.inner_m, candidate.inner_n // lanes
        part = part_sizes(candidate, sizes)
        kinds = len(_pieces(part.m, height)) * len(_pieces(part.n, candidate.inner_n))
        return kinds, (height + width) / (height * width)

    return min((c for c, taken in zip(candidates, cycles, strict=True) if taken <= most), key=rank)


def row_sets(problem: Problem, machine: Machine) -> int | None:
    """The number of lines of an L1 way that the rows of the result start in, if at most 4.

    None if the rows are spread over more, or if the whole result fits the L1 cache.
    """
    first = machine.cache(1)
    if first is None:
        return None
    element, sizes = problem.total.bytes, problem.sizes
    way = first.bytes // first.associativity
    sets = way // gcd(problem.leading_out * element, way)
    return sets if sets <= 4 and sizes.m * sizes.n * element > first.bytes else None


def tile_cycles(
    config: Config, sizes: Sizes, total: DType, machine: Machine, sets: int | None = None
) -> int:
    """Model the cycles of all register tiles of a thread.

    A tile takes as long as the slowest of its FMAs, its loads and the FMA latency. If the rows of
    the result fall into few ``sets`` of the L1 cache, writing its sums is a lower bound too.

    The model loads as many vectors a cycle from L1 as there are FMA units. A panel of ``b`` that
    exceeds half of L1 is loaded at ``1 / DISTANT_VECTOR`` of that rate. An ``a`` that fills half of
    L2 or more is reloaded for each panel of ``b``.
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
            conflicts = 0 if sets is None else -(-rows // sets)
            writing = conflicts * CROWDED_ROW * machine.fma_units
            computing = part.k * (busiest + far) + once
            cycles += row_count * column_count * max(computing, writing)
    return ceil(cycles / machine.fma_units)


def _pieces(extent: int, tile: int) -> list[tuple[int, int]]:
    """The sizes of the full and the partial tiles along a dimension, with their counts."""
    full, rest = divmod(extent, tile)
    return [(size, count) for size, count in ((tile, full), (rest, 1)) if size and count]


def cache_bytes(machine: Machine, level: int) -> int:
    """The bytes of a cache level, or of the largest smaller level that the machine has."""
    for candidate in range(level, 0, -1):
        cache = machine.cache(candidate)
        if cache is not None:
            return cache.bytes
    return 32 * 1024
