"""Register tile of a matrix product, by the cost model of contractions."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, gcd

from polysched.ir.core.cache_lines import LINE_BYTES
from polysched.ir.expr.dtypes import DType
from polysched.library.matmul.kernel.declare import Sizes
from polysched.library.matmul.plan.config import Config, part_sizes, registers_needed
from polysched.library.matmul.plan.problem import Problem
from polysched.machine.contraction_model import (
    TileStep,
    cheapest_tile,
    is_conflicting,
    pieces,
    tallest_tile,
    tile_cycles,
)
from polysched.machine.description import Machine

LATENCY_SLACK = 1.2
"""Sums that keep the FMA units busy, over the FMAs in flight: operands arrive late now and then.

Measured on Zen 4 with AVX2, f32 in L1: 8 sums of 8 in flight run at 0.8 of the rate of 12. The
autoscheduler does without it: a transposed operand is packed more slowly for wide tiles.
"""


def with_register_tile(config: Config, problem: Problem, machine: Machine) -> Config:
    """Choose the register tile for the parts of threads."""
    total, sizes, costs = problem.total, problem.sizes, machine.costs
    lanes = machine.lanes(total.bits)
    vectors = -(-sizes.n // lanes)
    candidates = [
        candidate
        for height in range(1, min(sizes.m, tallest_tile(machine)) + 1)
        for width in range(1, min(vectors, machine.vector_registers) + 1)
        if (candidate := replace(config, inner_m=height, inner_n=width * lanes))
        and registers_needed(candidate, machine, total) <= machine.vector_registers
    ]
    sets = row_sets(problem, machine)
    line = float(costs.l2_line)
    if is_conflicting(problem.leading_a * problem.dtype.bytes, machine):
        line += costs.line_into_l2  # rows in one set of L2 evict each other between two panels
    cycles = [product_cycles(tile, sizes, total, machine, sets, line) for tile in candidates]

    def kinds(candidate: Config) -> int:
        part = part_sizes(candidate, sizes)
        return len(pieces(part.m, candidate.inner_m)) * len(pieces(part.n, candidate.inner_n))

    def loads(candidate: Config) -> float:
        height, width = candidate.inner_m, candidate.inner_n // lanes
        return (height + width) / (height * width)

    return cheapest_tile(candidates, cycles, kinds, loads)


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


def product_cycles(
    config: Config,
    sizes: Sizes,
    total: DType,
    machine: Machine,
    sets: int | None = None,
    line: float = 0.0,
) -> int:
    """Model the cycles of all register tiles of a thread.

    If the rows of the result fall into few ``sets`` of the L1 cache, writing the sums of a tile is
    a lower bound. An ``a`` that fills half of L2 or more is reloaded for each panel of ``b``, in
    ``line`` cycles for each of its cache lines.
    """
    part = part_sizes(config, sizes)
    panel_bytes = part.k * config.inner_n * total.bytes
    is_far = part.m * part.k * total.bytes >= machine.cache_bytes(2) // 2
    lines = total.bytes / LINE_BYTES if is_far else 0
    lanes = machine.lanes(total.bits)
    columns = [(-(-n // lanes), count) for n, count in pieces(part.n, config.inner_n)]
    cycles = 0.0
    for rows, row_count in pieces(part.m, config.inner_m):
        for vectors, column_count in columns:
            sums = rows * vectors
            step = TileStep(sums, sums, rows + vectors, vectors, slack=LATENCY_SLACK)
            from_l2 = rows * lines * line
            computing = tile_cycles(step, part.k, panel_bytes, machine, from_l2)
            conflicts = 0 if sets is None else -(-rows // sets)
            writing = conflicts * machine.costs.conflicting_line
            cycles += row_count * column_count * max(computing, writing)
    return ceil(cycles)
