"""Work partition of a product among threads: whether, along which dimensions, in how many parts."""

from __future__ import annotations

from dataclasses import replace

from polysched.library.matmul.kernel.declare import Sizes
from polysched.library.matmul.plan.config import Config
from polysched.library.matmul.plan.problem import Problem
from polysched.machine.description import Machine

EVEN_ENOUGH = 1.05
"""Work of the largest part, relative to the most even grid, up to which a grid counts as even."""


def is_short(problem: Problem, machine: Machine) -> bool:
    """Whether the product is too short for a second thread."""
    sizes, element = problem.sizes, problem.dtype.bytes
    vectors = -(-sizes.n // machine.lanes(problem.total.bits))
    cycles = sizes.m * vectors * sizes.k / machine.fma_units
    read = (sizes.m + sizes.n) * sizes.k * element
    if sizes.batch * read > machine.cache_bytes(2):
        cycles = max(cycles, read / machine.costs.memory_bytes)
    return sizes.batch * cycles < machine.costs.parallel_cycles


def with_threads(problem: Problem, machine: Machine, threads: int) -> Config:
    """Divide few and long sums among threads, else the rows and columns in the most even grid."""
    sizes, costs = problem.sizes, machine.costs
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
    are_long = sizes.k >= threads * costs.divided_terms and sizes.m * sizes.n <= costs.divided_sums
    if are_long and 1.1 * by_sums < by_grid:
        return Config(k_threads=threads)
    return Config(m_threads=m_threads, n_threads=n_threads)


def in_more_parts(config: Config, part: Sizes, machine: Machine) -> Config:
    """Use more parts than threads, each of at least one register tile.

    Parts of the columns cost nothing, because ``a`` is read again for each panel of ``b`` anyway.
    Parts of the rows cost nothing if ``b`` is not packed for each. If ``a`` is packed, the parts
    stay as they are, so that packing reads long pieces.
    """
    if config.pack_a and not config.dot_form:
        return config
    if config.n_threads > 1:
        most = -(-part.n // config.inner_n)
        return replace(config, n_threads=config.n_threads * min(machine.costs.thread_parts, most))
    if config.m_threads > 1 and not config.pack_b:
        most = -(-part.m // config.inner_m)
        return replace(config, m_threads=config.m_threads * min(machine.costs.thread_parts, most))
    return config
