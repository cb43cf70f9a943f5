"""Choosing the config by a model of the machine; nothing here changes a program.

In the order of the deep-tiled design: the register tile, the threads, the blocks and the order of
the loops by where the operands live, and what is worth packing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from polysched.ir.dtypes import DType, f32
from polysched.library.matmul.config import (
    Config,
    fitted,
    part_of,
    registers_needed,
)
from polysched.library.matmul.kernel import Sizes, accumulator_of
from polysched.machine.description import Machine

SMALLEST_PARALLEL = 8_000_000
"""Flops below which waking a second thread costs more than it brings (some 30 microseconds)."""

FEWEST_ROWS = 128
"""Rows of the product for which copying ``b`` pays; each element is used so often."""

DISTANT_VECTOR = 5
"""Loads from the nearest cache that take as long as one from the next, row after row."""

SHORTEST_PART = 1024
"""Terms that a thread has at least, where the sums are cut in parts."""

SHORTEST_STREAM = 8
"""Rows of ``b`` that are read side by side, at least, where it comes from memory."""

TOLERANCE = 0.02
"""Tiles whose modelled cycles differ by less are taken to be equally fast."""

TILE_OVERHEAD = 24
"""Cycles to start and end a register tile: loop control, one mispredicted branch."""

SHORTEST_BLOCK = 64
"""Terms of a block at least: each block loads and stores all the sums."""

BLOCKS_OUTSIDE = "pmpnpkokonominimik"
"""Blocks of the sums outermost, in each all columns."""


@dataclass(frozen=True)
class Problem:
    """A product to be planned: its sizes, the type of its operands, how they are stored."""

    sizes: Sizes
    dtype: DType = f32
    accumulator: DType | None = None
    transpose_a: bool = False
    transpose_b: bool = False

    @property
    def total(self) -> DType:
        """The type of the sums."""
        return self.accumulator or accumulator_of(self.dtype)

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * self.sizes.batch * self.sizes.m * self.sizes.n * self.sizes.k


def plan(problem: Problem, machine: Machine, threads: int = 1) -> Config:
    """The config for a problem on a machine.

    Args:
        problem: what is computed.
        machine: where.
        threads: how many threads may run.
    """
    config = _with_threads(problem, threads)
    part = _part(replace(config, inner_m=1, inner_n=1, inner_k=1), problem.sizes)
    if _is_streamed(part, problem, machine):
        config = _streaming(config, part, problem, machine)
    else:
        config = _with_register_tile(config, problem, machine)
        config = _with_blocks(config, part, problem, machine)
    return fitted(config, problem.sizes)


def _part(config: Config, sizes: Sizes) -> Sizes:
    """What a thread has of a product."""
    return Sizes(*(part_of(config, d, extent) for d, extent in zip("mnk", sizes[:3], strict=True)))


def _with_register_tile(config: Config, problem: Problem, machine: Machine) -> Config:
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
    cycles = [tile_cycles(candidate, sizes, total, machine) for candidate in candidates]
    few = min(cycles) * (1 + TOLERANCE)

    def rank(candidate: Config) -> tuple[int, float]:
        height, width = candidate.inner_m, candidate.inner_n // lanes
        part = _part(candidate, sizes)
        kinds = len(_pieces(part.m, height)) * len(_pieces(part.n, candidate.inner_n))
        return kinds, (height + width) / (height * width)

    return min((c for c, taken in zip(candidates, cycles, strict=True) if taken <= few), key=rank)


def tile_cycles(config: Config, sizes: Sizes, total: DType, machine: Machine) -> int:
    """Cycles for all register tiles of a thread: what its FMAs, their operands or the latency take.

    A machine with so many FMA units is taken to load as many vectors a cycle from the nearest
    cache; a panel of ``b`` that does not fit there comes at a fraction of that.
    """
    part = _part(config, sizes)
    panel_bytes = part.k * config.inner_n * total.bytes
    row_cost = 1 if panel_bytes <= cache_bytes(machine, 1) // 2 else DISTANT_VECTOR
    lanes = machine.lanes(total.bits)
    columns = [(-(-n // lanes), count) for n, count in _pieces(part.n, config.inner_n)]
    cycles = 0
    for rows, row_count in _pieces(part.m, config.inner_m):
        for vectors, column_count in columns:
            sums = rows * vectors
            busiest = max(sums, rows + row_cost * vectors, machine.fma_latency * machine.fma_units)
            once = TILE_OVERHEAD * machine.fma_units + sums
            cycles += row_count * column_count * (part.k * busiest + once)
    return ceil(cycles / machine.fma_units)


def _pieces(extent: int, tile: int) -> list[tuple[int, int]]:
    """The sizes of tiles along a dimension, and how many have each."""
    full, rest = divmod(extent, tile)
    return [(size, count) for size, count in ((tile, full), (rest, 1)) if size and count]


def _with_threads(problem: Problem, threads: int) -> Config:
    """Parts for threads: of the sums where there are few and long ones, else the most even grid."""
    sizes = problem.sizes
    if threads < 2 or problem.flops < SMALLEST_PARALLEL:
        return Config()
    if sizes.batch >= threads:
        return Config(parallel_batch=True)
    if sizes.m * sizes.n <= 128 * 128 and sizes.k >= threads * SHORTEST_PART:
        return Config(k_threads=threads)
    grids = [(rows, threads // rows) for rows in range(1, threads + 1) if threads % rows == 0]

    def work(grid: tuple[int, int]) -> tuple[int, int, int]:
        rows, columns = -(-sizes.m // grid[0]), -(-sizes.n // grid[1])
        # All else equal, parts of columns: b is packed once for each part of the rows.
        return -(-rows // 4) * -(-columns // 16), rows + columns, grid[0]

    m_threads, n_threads = min(grids, key=work)
    return Config(m_threads=m_threads, n_threads=n_threads)


def _is_streamed(part: Sizes, problem: Problem, machine: Machine) -> bool:
    """Whether ``b`` comes from memory, and too few rows read it to hide that."""
    b_bytes = part.k * part.n * problem.dtype.bytes
    is_distant = b_bytes > cache_bytes(machine, 3) // 2
    return part.m < FEWEST_ROWS and is_distant and not problem.transpose_b


def _streaming(config: Config, part: Sizes, problem: Problem, machine: Machine) -> Config:
    """A few whole rows of ``b`` at a time, each read once from its first to its last element; the
    more rows of the product, the longer a block may be without waiting for memory.
    """
    heights = -(-part.m // 16)
    rows = -(-part.m // heights)
    widest = (machine.vector_registers - 1) // (rows + 1)
    vectors = max(1, min(widest, 16 // rows, 4) if rows <= SHORTEST_STREAM else min(widest, 2))
    terms = min(max(part.m, SHORTEST_STREAM), 8 * SHORTEST_STREAM)
    return replace(
        config,
        inner_m=rows,
        inner_n=vectors * machine.lanes(problem.total.bits),
        inner_k=terms if terms == SHORTEST_STREAM else 1,
        k_block=terms,
        order=BLOCKS_OUTSIDE,
        pack_a=True,
        pack_b=False,
    )


def _with_blocks(config: Config, part: Sizes, problem: Problem, machine: Machine) -> Config:
    """Blocks of the sums, the order of the loops and what is packed."""
    near, element = cache_bytes(machine, 2), problem.dtype.bytes
    longest = max(SHORTEST_BLOCK, near // (2 * config.inner_n * element))
    if part.k > longest:
        is_small = part.m * part.n * problem.total.bytes <= near // 4
        both = (part.m + part.n) * element
        wanted = max(SHORTEST_BLOCK, near // 8 // both) if is_small else longest
        blocks = -(-part.k // wanted)
        config = replace(config, order=BLOCKS_OUTSIDE, k_block=-(-part.k // blocks))
    tiles = -(-part.m // config.inner_m)
    pays = part.m >= FEWEST_ROWS and (config.k_block or part.k) * part.n * element > near
    return replace(config, pack_b=pays or (problem.transpose_b and tiles > 1))


def cache_bytes(machine: Machine, level: int) -> int:
    """The bytes of a level of cache, or of the next below that the machine has."""
    for candidate in range(level, 0, -1):
        cache = machine.cache(candidate)
        if cache is not None:
            return cache.bytes
    return 32 * 1024
