"""Work partition of a product among threads: whether, along which dimensions, in how many parts."""

from __future__ import annotations

from dataclasses import replace

from polysched.library.matmul.config import Config
from polysched.library.matmul.kernel import Sizes
from polysched.library.matmul.problem import Problem
from polysched.library.matmul.register_tile import cache_bytes
from polysched.machine.description import Machine

SHORTEST_PARALLEL = 40_000
"""Use one thread when it takes fewer cycles than this, some 11 microseconds.

A parallel region costs 2 to 3 microseconds when the threads are awake, so less work gains little.
Waking a thread costs 15 to 60 microseconds, so a sleeping one is woken for little more work only if
more regions follow (:mod:`polysched.runtime.thread_team`, ``notes/performance.md``).
"""

BYTES_A_CYCLE = 16
"""Bytes that one thread reads per cycle from the last cache or from memory, at most.

A new panel of ``b`` arrives at this rate (``notes/performance.md``).
"""

SHORTEST_PART = 1024
"""Terms of each thread, at least, when the sums are divided among threads."""

LARGEST_PARTIAL = 128 * 128
"""Elements of the product, at most, when the sums are divided: each thread has a copy of them."""

PARTS_A_THREAD = 8
"""Parts for each thread, when further parts cost nothing.

If the system delays a thread, the rest of the team takes its remaining parts, and the wait for the
last part is short.
"""

EVEN_ENOUGH = 1.05
"""Work of the largest part, relative to the most even grid, up to which a grid counts as even."""


def is_short(problem: Problem, machine: Machine) -> bool:
    """Whether the product is too short for a second thread."""
    sizes, element = problem.sizes, problem.dtype.bytes
    vectors = -(-sizes.n // machine.lanes(problem.total.bits))
    cycles = sizes.m * vectors * sizes.k / machine.fma_units
    read = (sizes.m + sizes.n) * sizes.k * element
    if sizes.batch * read > cache_bytes(machine, 2):
        cycles = max(cycles, read / BYTES_A_CYCLE)
    return sizes.batch * cycles < SHORTEST_PARALLEL


def with_threads(problem: Problem, machine: Machine, threads: int) -> Config:
    """Divide few and long sums among threads, else the rows and columns in the most even grid."""
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
    # On a tie prefer parts of columns, because each part of the rows packs b again.
    m_threads, n_threads = min(even, key=lambda grid: (sum(extents(grid)), grid[0]))
    # Elements that a thread reads per term: all rows and columns for 1/threads of the terms, or
    # the rows and columns of its part for all terms.
    by_sums = (sizes.m + sizes.n) / threads
    by_grid = -(-sizes.m // m_threads) + -(-sizes.n // n_threads)
    are_long = sizes.k >= threads * SHORTEST_PART and sizes.m * sizes.n <= LARGEST_PARTIAL
    if are_long and 1.1 * by_sums < by_grid:
        return Config(k_threads=threads)
    return Config(m_threads=m_threads, n_threads=n_threads)


def in_more_parts(config: Config, part: Sizes) -> Config:
    """Use more parts than threads, each of at least one register tile.

    Parts of the columns cost nothing, because ``a`` is read again for each panel of ``b`` anyway.
    Parts of the rows cost nothing if ``b`` is not packed for each. If ``a`` is packed, the parts
    stay as they are, so that packing reads long pieces.
    """
    if config.pack_a and not config.dot_form:
        return config
    if config.n_threads > 1:
        most = -(-part.n // config.inner_n)
        return replace(config, n_threads=config.n_threads * min(PARTS_A_THREAD, most))
    if config.m_threads > 1 and not config.pack_b:
        most = -(-part.m // config.inner_m)
        return replace(config, m_threads=config.m_threads * min(PARTS_A_THREAD, most))
    return config
