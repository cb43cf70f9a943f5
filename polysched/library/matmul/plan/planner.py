"""Planner of matrix products: choose a config by a cost model of the machine.

It decides on threads, the register tile, cache blocks and loop order (by the cache level that holds
each operand), and packing. It does not build a schedule.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.ir.core.cache_lines import LINE_BYTES
from polysched.library.matmul.kernel.declare import Sizes
from polysched.library.matmul.kernel.operands import ComputedOperand, VnniLayout
from polysched.library.matmul.plan.config import (
    B_BLOCKS_OUTERMOST,
    K_BLOCKS_OUTERMOST,
    Config,
    fitted,
    loop_of_packing,
    part_sizes,
    tile_loops,
)
from polysched.library.matmul.plan.panels import in_blocks_of_panels
from polysched.library.matmul.plan.problem import Problem
from polysched.library.matmul.plan.register_tile import with_register_tile
from polysched.library.matmul.plan.tiles import tile_config, tile_layout_of
from polysched.library.matmul.plan.vnni import as_32_bit, vnni_layout_of
from polysched.library.matmul.plan.work_partition import in_more_parts, with_threads
from polysched.machine.contraction_model import (
    even_block,
    is_conflicting,
    longest_block,
    near_l3_bytes,
    pays_packing,
    pays_short_blocks,
)
from polysched.machine.description import Machine


def plan(problem: Problem, machine: Machine, threads: int = 1) -> Config:
    """Choose the config of a problem on a machine."""
    vnni = vnni_layout_of(problem, machine)
    if vnni is not None:
        return _vnni_config(problem, vnni, machine, threads)
    config, part = _partitioned(problem, machine, threads)
    if _uses_dot_form(part, problem, machine):
        config = in_more_parts(_dot_form(config, part, problem, machine), part, machine)
        return fitted(config, problem.sizes)
    if (count := _split_accumulators(problem, machine)) > 1:
        config = Config(
            parallel_batch=config.parallel_batch,
            pack_b=False,
            split_accumulators=count,
            inner_m=problem.sizes.m,
            inner_n=problem.sizes.n,
        )
    elif _is_streamed(part, problem, machine) and part.m <= _tallest_streamed(machine):
        config = _streaming(config, part, problem, machine)
    else:
        tiled = with_register_tile(config, problem, machine)
        if _is_streamed(part, problem, machine) and _is_narrow(tiled, problem, machine):
            config = _streaming_packed(tiled, part, machine)
        else:
            config = in_more_parts(_with_blocks(tiled, part, problem, machine), part, machine)
    return fitted(_with_computed(config, problem, machine), problem.sizes)


def _partitioned(problem: Problem, machine: Machine, threads: int) -> tuple[Config, Sizes]:
    """Divide the product among threads; also return the sizes of the largest part."""
    config = with_threads(problem, machine, threads)
    return config, part_sizes(replace(config, inner_m=1, inner_n=1, inner_k=1), problem.sizes)


def _vnni_config(problem: Problem, vnni: VnniLayout, machine: Machine, threads: int) -> Config:
    """The config of a product in VNNI layout: that of the 32-bit product, with ``b`` packed."""
    wide, terms, costs = as_32_bit(problem, vnni), vnni.terms, machine.costs
    config, part = _partitioned(wide, machine, threads)
    if tile_layout_of(problem, machine) is not None:
        config = tile_config(config, part, B_BLOCKS_OUTERMOST, machine)
    else:
        config = _with_blocks(with_register_tile(config, wide, machine), part, wide, machine)
    # Of 2048^3, prefetching takes 0.93 of the time in int8, 0.97 in bf16 and 0.98 in int16.
    prefetch = config.prefetch_a and not (config.tiles or vnni.copies_a)
    config = replace(
        config,
        pack_b=True,
        prefetch_a=prefetch,
        prefetch_b=0,
        prefetch_packed=0,
        inner_k=config.inner_k * terms,
    )
    b_bytes = problem.sizes.k * problem.sizes.n * problem.dtype.bytes
    conflicts = not problem.transpose_b and _rows_conflict(problem, problem.leading_b, machine)
    is_read_often = part.m >= costs.packing_rows
    if conflicts and b_bytes > machine.cache_bytes(2) and not is_read_often:
        width = costs.vnni_block_columns
        block = width if part.n > 2 * width else None
        config = replace(
            config,
            order=B_BLOCKS_OUTERMOST,
            k_block=costs.vnni_block_terms,
            n_block=block,
            prefetch_a=False,
        )
    else:
        block = None if config.k_block is None else config.k_block * terms
        config = in_more_parts(replace(config, k_block=block), part, machine)
    return fitted(config, problem.sizes)


def _uses_dot_form(part: Sizes, problem: Problem, machine: Machine) -> bool:
    """Whether a transposed ``b`` is read in place, by the dot form of a few rows."""
    costs = machine.costs
    vectors, lanes = part.m + costs.dot_extra_vectors, machine.lanes(problem.total.bits)
    fewest = max(costs.block_terms, vectors * lanes)
    b, most = problem.b, costs.dot_rows
    if isinstance(b, ComputedOperand):
        # Bits are unpacked again for each tile of rows.
        most = most // 2 if b.reads_bits else costs.computed_dot_vectors * lanes
    return problem.transpose_b and part.m <= most and part.k >= fewest


def _split_accumulators(problem: Problem, machine: Machine) -> int:
    """The number of accumulators of each element.

    If the product has at most half as many vectors of sums as FMAs can be in flight, each sum is
    split until that many are. Partial vectors get twice as many: their inactive lanes are merged
    back after each FMA, which lengthens the chain.
    """
    sizes, lanes = problem.sizes, machine.lanes(problem.total.bits)
    vectors = sizes.m * -(-sizes.n // lanes)
    in_flight = machine.fma_latency * machine.fma_units
    if problem.computed_a or problem.computed_b or problem.transpose_b:
        return 1
    if 2 * vectors > in_flight or sizes.k < machine.costs.block_terms:
        return 1
    is_masked = sizes.n & (sizes.n - 1) > 0 and sizes.n % lanes > 0
    fitting = (machine.vector_registers - 1 - sizes.n // lanes) // vectors - 1
    return max(1, min((2 if is_masked else 1) * in_flight // vectors, fitting))


def _is_streamed(part: Sizes, problem: Problem, machine: Machine) -> bool:
    """Whether ``b`` is streamed: it comes from memory, and too few rows reuse it to hide that.

    Strided sums are loaded and stored one by one. With few rows a block is so short that this takes
    longer than its terms.
    """
    costs = machine.costs
    is_distant = part.k * part.n * problem.dtype.bytes > near_l3_bytes(machine) // 2
    if part.m < 2 * costs.streamed_rows and _has_strided_rows(problem):
        return False
    return (
        part.m < costs.packing_rows and is_distant and not (problem.transpose_b or problem.gaps_b)
    )


def _has_strided_rows(problem: Problem) -> bool:
    """Whether the elements of a row of the result are not contiguous."""
    return problem.strides_out is not None and problem.strides_out[-1] != 1


def _streaming(config: Config, part: Sizes, problem: Problem, machine: Machine) -> Config:
    """Stream ``b``: read a few whole rows of it at a time, each once from beginning to end.

    The more rows the product has, the more terms a block has: more FMAs hide each load.
    """
    costs = machine.costs
    # Registers: one vector of sums for each row, one of b and one of a.
    heights = -(-part.m // _tallest_streamed(machine))
    rows = -(-part.m // heights)
    widest = (machine.vector_registers - 1) // (rows + 1)
    few = rows <= costs.streamed_rows
    vectors = max(1, min(widest, 16 // rows, costs.row_vectors) if few else min(widest, 2))
    terms = min(max(part.m, costs.streamed_rows), 8 * costs.streamed_rows)
    sizes, parts = problem.sizes, costs.streamed_parts * config.n_threads
    if config.n_threads > 1:
        # Parts of the terms read whole rows of b, and each part has a copy of all the sums.
        sums = sizes.m * sizes.n * problem.total.bytes
        fitting = machine.cache_bytes(2) // 2 // sums
        by_length = sizes.k // (16 * costs.streamed_rows)
        if config.m_threads == 1 and parts <= fitting:
            most = min(costs.thread_parts * config.n_threads, fitting, by_length)
            config = replace(config, n_threads=1, k_threads=max(parts, most))
        else:
            config = replace(config, n_threads=parts)
    return replace(
        config,
        inner_m=rows,
        inner_n=vectors * machine.lanes(problem.total.bits),
        inner_k=terms if terms == costs.streamed_rows else 1,
        k_block=terms,
        order=K_BLOCKS_OUTERMOST,
        pack_a=part.k > terms or config.k_threads > 1,
        pack_b=False,
        prefetch_b=_panels_ahead(vectors, problem, machine),
        prefetch_level=2,
    )


def _panels_ahead(vectors: int, problem: Problem, machine: Machine) -> int:
    """The panels between the one that a streamed ``b`` is read from and the one prefetched.

    0 for panels of less than a cache line, each of which would be prefetched several times.
    """
    panel_bytes = vectors * machine.lanes(problem.total.bits) * problem.dtype.bytes
    if panel_bytes < LINE_BYTES:
        return 0
    return -(-machine.costs.prefetch_distance // panel_bytes)


def _tallest_streamed(machine: Machine) -> int:
    """The rows of a register tile one vector wide, at most; taller products have wider tiles."""
    return min(16, machine.vector_registers - 2)


def _is_narrow(tiled: Config, problem: Problem, machine: Machine) -> bool:
    """Whether the rows of panels are so short that they are not prefetched in place."""
    return tiled.inner_n * problem.dtype.bytes < machine.costs.narrow_panel


def _streaming_packed(tiled: Config, part: Sizes, machine: Machine) -> Config:
    """Stream ``b`` through packed panels: tiles of rows read them again.

    In few registers panels are narrow, and in place each tile waits for the cache lines of many
    rows.
    """
    terms = machine.costs.streamed_block_terms
    return replace(
        tiled,
        k_block=terms,
        order=K_BLOCKS_OUTERMOST,
        pack_a=part.k > terms,
        pack_b=True,
        prefetch_b=1,
    )


def _dot_form(config: Config, part: Sizes, problem: Problem, machine: Machine) -> Config:
    """The config of the dot form: a few rows by a few rows of the transposed ``b``."""
    # Registers: one vector of sums for each element, one of each row of a, one of b.
    costs = machine.costs
    is_near = part.m * part.k * problem.dtype.bytes <= machine.cache_bytes(1) * 3 // 4
    most = costs.dot_tile_rows if is_near else costs.distant_dot_tile_rows
    rows = _dividing(part.m, min(most, machine.vector_registers // 4))
    widest = (machine.vector_registers - 1) // rows - 1
    most_columns = (2 if rows <= 2 else 1) * costs.dot_tile_columns
    return replace(
        config,
        n_threads=max(config.n_threads, config.k_threads),
        k_threads=1,
        inner_m=rows,
        inner_n=_dividing(part.n, min(widest, most_columns)),
        pack_a=problem.transpose_a or problem.gaps_a,
        pack_b=False,
        dot_form=True,
    )


def _dividing(extent: int, most: int) -> int:
    """The tile size, at most ``most``, for an extent.

    It is the largest divisor of the extent from half of ``most`` on. If there is none, it is the
    size of the fewest tiles, as equal as possible. A partial tile is a separate copy of the code,
    which takes as long to compile as the full tile.
    """
    sizes = range(most, max(1, -(-most // 2)) - 1, -1)
    even = next((size for size in sizes if extent % size == 0), None)
    return even or -(-extent // -(-extent // most))


def _with_blocks(config: Config, part: Sizes, problem: Problem, machine: Machine) -> Config:
    """Choose the blocks of terms and rows, the loop order and the packing."""
    near, element, costs = machine.cache_bytes(2), problem.dtype.bytes, machine.costs
    b_bytes = part.k * part.n * element
    is_readable = not (problem.transpose_b or problem.gaps_b)
    is_narrow = _is_narrow(config, problem, machine)
    # Narrow panels have few FMAs for each prefetch: with AVX2, 20 x 600 x 900 in f64 took 1.2 times
    # as long.
    in_place = is_readable and part.n > config.inner_n and not is_narrow and b_bytes > near // 2
    is_short = in_place and part.m < costs.page_packing_rows
    is_short &= pays_short_blocks(b_bytes, problem.leading_b * element, machine)
    config = _with_blocks_of_terms(config, part, problem, machine, is_short=is_short)
    reloads_a = problem.sizes.m * problem.sizes.k * element > near_l3_bytes(machine) // 4
    conflicts = _rows_conflict(problem, problem.leading_a, machine)
    reloads_a |= conflicts and part.m * part.k * element > near
    if problem.transpose_a and reloads_a:
        config = replace(config, m_block=costs.row_block, pack_a=True)
        fitting = near // 4 // (costs.row_block * element)
        if (config.k_block or part.k) > fitting:
            config = replace(config, order=K_BLOCKS_OUTERMOST, k_block=fitting)
    tiles = -(-part.m // config.inner_m)
    terms = config.k_block or part.k
    pays = pays_packing(
        part.m,
        problem.leading_b * element,
        terms,
        terms * part.n * element,
        terms * config.inner_n * element,
        machine,
        is_prefetched=in_place,
    )
    # A b with gaps is read element by element: pack it if it is read more than once.
    pays |= problem.gaps_b and tiles > 1
    # If the rows of a exceed the L2 cache, they are reloaded for each panel of b. Hardware
    # prefetchers do not follow the beginning of a row.
    in_rows = not (problem.transpose_a or problem.gaps_a)
    in_rows = in_rows and not (config.pack_a or config.k_threads > 1)
    is_far = in_rows and part.m * terms * element > near
    # 128 products of 16 x 64 x 512 in f32 on Zen 4: 83 GFLOP/s, 96 with the next b prefetched.
    in_stack = is_readable and problem.sizes.batch > 1 and not (config.parallel_batch or pays)
    in_stack &= b_bytes * problem.sizes.batch > near // 2
    in_stack &= machine.cache_bytes(1) < b_bytes <= near // 4
    panels = config.prefetch_b or int(is_narrow if pays else in_place)
    is_packed = pays or problem.transpose_b
    if is_packed and in_rows and tiles > 1:
        blocks = in_blocks_of_panels(config, part, problem, machine)
        if blocks is not None:
            return blocks
    return replace(
        config,
        pack_b=is_packed,
        prefetch_a=is_far and tiles > 1,
        prefetch_b=1 if in_stack else panels if is_readable else 0,
        prefetch_level=2 if in_stack else 1,
        prefetch_products=in_stack,
    )


def _with_blocks_of_terms(
    config: Config, part: Sizes, problem: Problem, machine: Machine, *, is_short: bool
) -> Config:
    """Choose the blocks of terms. A single row reads ``b`` once, row by row."""
    costs, element = machine.costs, problem.dtype.bytes
    lanes = machine.lanes(problem.total.bits)
    is_row = part.m == 1 and part.k * part.n * element > machine.cache_bytes(1)
    is_wide = part.n >= costs.wide_row * lanes
    longest = longest_block(
        part.k,
        config.inner_n * element,
        (part.m + part.n) * element,
        part.m * part.n * problem.total.bytes,
        machine,
        is_row=is_row,
        is_short=is_short,
    )
    if is_row and is_wide and part.k > costs.streamed_rows:
        terms = costs.streamed_rows
        columns = costs.row_vectors * lanes
        return replace(
            config,
            inner_n=columns,
            inner_k=terms,
            order=K_BLOCKS_OUTERMOST,
            k_block=terms,
            prefetch_b=_panels_ahead(costs.row_vectors, problem, machine),
        )
    if longest is None or (is_row and is_wide):
        return config
    terms = even_block(part.k, longest, LINE_BYTES // element)
    return replace(config, order=K_BLOCKS_OUTERMOST, k_block=terms)


def _rows_conflict(problem: Problem, leading: int, machine: Machine) -> bool:
    """Whether rows at this distance, in elements, fall into the same sets of the caches."""
    return is_conflicting(leading * problem.dtype.bytes, machine)


def _with_computed(config: Config, problem: Problem, machine: Machine) -> Config:
    """Pack computed operands, so that they are computed into the cache just before their use.

    A row-major computed ``b`` that only one tile of rows reads is computed in registers instead.
    """
    if problem.computed_b:
        rows = part_sizes(config, problem.sizes).m
        is_packed = problem.transpose_b or rows > config.inner_m
        config = replace(config, pack_b=is_packed, prefetch_b=0)
    if problem.computed_a:
        if config.m_block is None and config.k_block is None:
            config = replace(config, m_block=machine.costs.row_block)
        loops = tile_loops(fitted(config, problem.sizes))
        is_packed = loop_of_packing("a", loops) is not None
        config = replace(config, pack_a=is_packed, prefetch_a=False)
    return config
