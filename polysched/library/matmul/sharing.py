"""How a product is shared among threads: whether at all, in which parts, and in how many."""

from __future__ import annotations

from dataclasses import replace

from polysched.library.matmul.config import Config
from polysched.library.matmul.kernel import Sizes
from polysched.library.matmul.problem import Problem
from polysched.library.matmul.register_tile import cache_bytes
from polysched.machine.description import Machine

SHORTEST_PARALLEL = 40_000
"""Cycles that one thread takes, below which a second one, though it is awake, brings little: some
11 microseconds. One that sleeps is woken for so little only if more comes
(:mod:`polysched.runtime.own_team`).
"""

BYTES_A_CYCLE = 16
"""What one thread reads of the last cache or of memory, at most."""

SHORTEST_PART = 1024
"""Terms that a thread has at least, where the sums are cut in parts."""

LARGEST_PARTIAL = 128 * 128
"""Elements of the product, at most, where the sums are cut in parts: each part has them all."""

PARTS_A_THREAD = 8
"""Parts for each thread, where they cost nothing: one that the system holds up leaves the others to
the rest of the team, and there is little to wait for at the end."""

EVEN_ENOUGH = 1.05
"""Grids of parts are as good as the most even one if a part has at most so much more to do."""


def is_short(problem: Problem, machine: Machine) -> bool:
    """Whether one thread has computed the product before a second one could be of use."""
    sizes, element = problem.sizes, problem.dtype.bytes
    vectors = -(-sizes.n // machine.lanes(problem.total.bits))
    cycles = sizes.m * vectors * sizes.k / machine.fma_units
    read = (sizes.m + sizes.n) * sizes.k * element
    if sizes.batch * read > cache_bytes(machine, 2):
        cycles = max(cycles, read / BYTES_A_CYCLE)
    return sizes.batch * cycles < SHORTEST_PARALLEL


def with_threads(problem: Problem, machine: Machine, threads: int) -> Config:
    """Parts for threads: of the sums where there are few and long ones, else the most even grid."""
    sizes = problem.sizes
    if threads < 2 or is_short(problem, machine):
        return Config()
    if sizes.batch >= threads:
        return Config(parallel_batch=True)
    grids = [(rows, threads // rows) for rows in range(1, threads + 1) if threads % rows == 0]

    def extents(grid: tuple[int, int]) -> tuple[int, int]:
        return -(-sizes.m // grid[0]), -(-sizes.n // grid[1])

    def work(grid: tuple[int, int]) -> int:
        rows, columns = extents(grid)
        return -(-rows // 4) * -(-columns // 16)

    enough = EVEN_ENOUGH * min(map(work, grids))
    even = [grid for grid in grids if work(grid) <= enough]
    # All else equal, parts of columns: b is packed once for each part of the rows.
    m_threads, n_threads = min(even, key=lambda grid: (sum(extents(grid)), grid[0]))
    # What a thread reads, along the sums: a part of the sums of everything, or all of a part.
    by_sums = (sizes.m + sizes.n) / threads
    by_grid = -(-sizes.m // m_threads) + -(-sizes.n // n_threads)
    are_long = sizes.k >= threads * SHORTEST_PART and sizes.m * sizes.n <= LARGEST_PARTIAL
    if are_long and 1.1 * by_sums < by_grid:
        return Config(k_threads=threads)
    return Config(m_threads=m_threads, n_threads=n_threads)


def in_more_parts(config: Config, part: Sizes) -> Config:
    """More parts than threads, of at least one register tile: parts of the columns, which read
    the same of ``a`` panel by panel anyway, or of the rows if ``b`` is not packed for each; unless
    ``a`` is packed, since it lies far apart: then a part reads long pieces.
    """
    if config.pack_a and not config.along_k:
        return config
    if config.n_threads > 1:
        most = -(-part.n // config.inner_n)
        return replace(config, n_threads=config.n_threads * min(PARTS_A_THREAD, most))
    if config.m_threads > 1 and not config.pack_b:
        most = -(-part.m // config.inner_m)
        return replace(config, m_threads=config.m_threads * min(PARTS_A_THREAD, most))
    return config
