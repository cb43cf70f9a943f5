"""Planner of matrix products: choose a config by a cost model of the machine.

It decides on threads, the register tile, cache blocks and loop order (by the cache level that holds
each operand), and packing. It does not build a schedule.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from polysched.ir.core.cache_lines import LINE_BYTES
from polysched.library.matmul.config import Config, fitted
from polysched.library.matmul.kernel import Sizes
from polysched.library.matmul.operands import VnniLayout
from polysched.library.matmul.problem import Problem
from polysched.library.matmul.register_tile import cache_bytes, part_sizes, with_register_tile
from polysched.library.matmul.tiling import loop_of_packing, tile_loops
from polysched.library.matmul.vnni import as_32_bit, vnni_layout_of
from polysched.library.matmul.work_partition import PARTS_A_THREAD, in_more_parts, with_threads
from polysched.machine.description import Machine

FEWEST_ROWS = 128
"""Pack ``b`` when the product has at least this many rows and the rows of ``b`` do not fit the L2
cache: each packed element is then reused that often. Packing costs about 6 cycles a vector
(``notes/performance.md``), which fewer rows do not save.
"""

FEWEST_ROWS_CONFLICTING = 64
"""The same, when the rows of ``b`` are a multiple of a page apart and so fall into one cache set,
and a packed panel fits the L1 cache.
"""

MOST_DOT_ROWS = 16
"""Use the dot form for a transposed ``b`` when a thread has at most this many rows.

It reads ``b`` in place. With more rows, packing ``b`` transposed is mostly faster: it costs 0 to
5 % of an f32 product (``notes/performance.md``).
"""

MOST_DOT_TILE_ROWS = 7
"""Rows of a register tile in dot form, at most: each needs a vector of ``a`` beside the sums."""

MOST_DISTANT_DOT_TILE_ROWS = 5
"""The same, when the rows of ``a`` exceed 3/4 of the L1 cache: each tile reloads them from L2."""

MOST_DOT_TILE_COLUMNS = 4
"""Columns of a register tile in dot form, at most; twice as many for one or two rows.

Measured: tiles of 4 x 4 beat 8 x 2. A single row by eight rows of a transposed ``b`` in the last
cache runs at 46 GB/s, by four at 39 (``notes/performance.md``).
"""

EXTRA_DOT_VECTORS = 2
"""Use the dot form when a sum has at least one vector of terms for each row and this many more.

Reducing the partial sums of a column costs the same for each row. With shorter sums it soon costs
more than transposing ``b`` once for all rows. Measured for f32: transposing first makes 8x400x64
1.5 times as fast, and 8x400x256 0.8 times (``notes/performance.md``).
"""

STREAMED_ROWS = 8
"""Rows of ``b`` that are read side by side, at least, when ``b`` is streamed from memory."""

WIDE_ROW = 16
"""Stream ``b`` for a single row of sums when that row has at least this many vectors.

A few rows of ``b`` are then read side by side, each from its beginning to its end, and the sums are
loaded from and stored to the L1 cache for each block.
"""

VECTORS_OF_ROW = 4
"""Accumulator vectors of the register tile for such a single row."""

FEWEST_STRIDED_ROWS = 2 * STREAMED_ROWS
"""Stream ``b`` into a result with strided rows when a thread has at least this many rows.

Strided sums are loaded and stored one by one. With fewer rows a block is so short that this takes
longer than its terms.
"""

SHORTEST_BLOCK = 64
"""Terms of a block, at least: each block loads and stores all the sums."""

ROWS_OF_BLOCK = 256
"""Rows of a block when a transposed ``a`` is packed, or a computed ``a`` has no other blocks.

Without packing, each panel of ``b`` reads a transposed ``a`` from as many pages as there are terms.
Measured: packing took 2000x300x2000 in f64 from 0.61 to 1.82 times numpy
(``notes/performance.md``).
"""

STREAMED_PARTS_A_THREAD = 2
"""Parts for each thread when ``b`` is streamed. More parts read shorter pieces of rows."""

SHORTEST_STREAMED_PART = 16 * STREAMED_ROWS
"""Terms of a part, at least, when there are more than ``STREAMED_PARTS_A_THREAD`` parts."""

VNNI_BLOCK = (256, 1024)
"""Terms and columns of a block of ``b`` in VNNI layout, when the rows of ``b`` fall into one cache
set, exceed the L2 cache, and the product has fewer than ``FEWEST_ROWS`` rows.

Measured for int8 on AMD Zen 5 (``notes/performance.md``): 16x4096x4096 took 2.4 ms in such blocks
and 4.5 ms panel by panel, which reads one cache line of each row. Where rows do not fall into one
set, panels were as good or better: 12x1000x4000 took 262 us, in blocks 302 us. With two threads,
parts narrower than a block cost a third.
"""

B_BLOCKS_OUTERMOST = "pmpnpkokonomiminik"
"""Loop order: blocks of ``b`` outermost. Each is packed whole, then all rows read it."""

K_BLOCKS_OUTERMOST = "pmpnpkokonominimik"
"""Loop order: blocks of the terms outermost. Each covers all columns."""


def plan(problem: Problem, machine: Machine, threads: int = 1) -> Config:
    """Choose the config of a problem on a machine.

    Args:
        problem: the product.
        machine: the machine that the code is for.
        threads: the most threads to use.
    """
    vnni = vnni_layout_of(problem, machine)
    if vnni is not None:
        return _vnni_config(problem, vnni, machine, threads)
    config = with_threads(problem, machine, threads)
    part = part_sizes(replace(config, inner_m=1, inner_n=1, inner_k=1), problem.sizes)
    if _uses_dot_form(part, problem, machine):
        config = in_more_parts(_dot_form(config, part, problem, machine), part)
    elif (count := _split_accumulators(problem, machine)) > 1:
        config = Config(
            parallel_batch=config.parallel_batch,
            pack_b=False,
            split_accumulators=count,
        )
        config = replace(config, inner_m=problem.sizes.m, inner_n=problem.sizes.n)
    elif _is_streamed(part, problem, machine):
        config = _streaming(config, part, problem, machine)
    else:
        config = with_register_tile(config, problem, machine)
        config = _with_blocks(config, part, problem, machine)
        config = in_more_parts(config, part)
    if not config.dot_form:
        config = _with_computed(config, problem)
    return fitted(config, problem.sizes)


def _vnni_config(problem: Problem, vnni: VnniLayout, machine: Machine, threads: int) -> Config:
    """The config of a product in VNNI layout: that of the 32-bit product, with ``b`` packed."""
    wide, terms = as_32_bit(problem, vnni), vnni.terms
    config = with_threads(wide, machine, threads)
    part = part_sizes(replace(config, inner_m=1, inner_n=1, inner_k=1), wide.sizes)
    config = _with_blocks(with_register_tile(config, wide, machine), part, wide, machine)
    config = replace(config, pack_b=True, prefetch_a=False, inner_k=config.inner_k * terms)
    is_distant = problem.sizes.k * problem.sizes.n * problem.dtype.bytes > cache_bytes(machine, 2)
    conflicts = not problem.transpose_b and _rows_conflict(problem, machine, problem.leading_b)
    if conflicts and is_distant and part.m < FEWEST_ROWS:
        length, width = VNNI_BLOCK
        block = width if part.n > 2 * width else None
        config = replace(config, order=B_BLOCKS_OUTERMOST, k_block=length, n_block=block)
    else:
        block = None if config.k_block is None else config.k_block * terms
        config = in_more_parts(replace(config, k_block=block), part)
    return fitted(config, problem.sizes)


def _uses_dot_form(part: Sizes, problem: Problem, machine: Machine) -> bool:
    """Whether a transposed ``b`` is read in place, by the dot form of a few rows."""
    vectors = part.m + EXTRA_DOT_VECTORS
    fewest = max(SHORTEST_BLOCK, vectors * machine.lanes(problem.total.bits))
    return problem.transpose_b and part.m <= MOST_DOT_ROWS and part.k >= fewest


def _split_accumulators(problem: Problem, machine: Machine) -> int:
    """The number of accumulators of each element.

    If the product has at most half as many vectors of sums as FMAs can be in flight, each sum is
    split until that many are. Partial vectors get twice as many: their inactive lanes are merged
    back after each FMA, which lengthens the chain.
    """
    sizes, lanes = problem.sizes, machine.lanes(problem.total.bits)
    vectors = sizes.m * -(-sizes.n // lanes)
    wanted = machine.fma_latency * machine.fma_units
    if problem.computed_a or problem.computed_b or problem.transpose_b:
        return 1
    if 2 * vectors > wanted or sizes.k < SHORTEST_BLOCK:
        return 1
    is_masked = sizes.n & (sizes.n - 1) > 0 and sizes.n % lanes > 0
    fitting = (machine.vector_registers - 1 - sizes.n // lanes) // vectors - 1
    return max(1, min((2 if is_masked else 1) * wanted // vectors, fitting))


def _is_streamed(part: Sizes, problem: Problem, machine: Machine) -> bool:
    """Whether ``b`` is streamed: it comes from memory, and too few rows reuse it to hide that."""
    b_bytes = part.k * part.n * problem.dtype.bytes
    is_distant = b_bytes > cache_bytes(machine, 3) // 2
    if part.m < FEWEST_STRIDED_ROWS and _has_strided_rows(problem):
        return False
    return part.m < FEWEST_ROWS and is_distant and not (problem.transpose_b or problem.gaps_b)


def _has_strided_rows(problem: Problem) -> bool:
    """Whether the elements of a row of the result are not contiguous."""
    return problem.strides_out is not None and problem.strides_out[-1] != 1


def _streaming(config: Config, part: Sizes, problem: Problem, machine: Machine) -> Config:
    """Stream ``b``: read a few whole rows of it at a time, each once from beginning to end.

    The more rows the product has, the more terms a block has: more FMAs hide each load.
    """
    # Registers: one vector of sums for each row, one of b and one of a.
    tallest = min(16, machine.vector_registers - 2)
    heights = -(-part.m // tallest)
    rows = -(-part.m // heights)
    widest = (machine.vector_registers - 1) // (rows + 1)
    vectors = max(1, min(widest, 16 // rows, 4) if rows <= STREAMED_ROWS else min(widest, 2))
    terms = min(max(part.m, STREAMED_ROWS), 8 * STREAMED_ROWS)
    sizes, parts = problem.sizes, STREAMED_PARTS_A_THREAD * config.n_threads
    if config.n_threads > 1:
        # Parts of the terms read whole rows of b, and each part has a copy of all the sums.
        sums = sizes.m * sizes.n * problem.total.bytes
        fitting = cache_bytes(machine, 2) // 2 // sums
        by_length = sizes.k // SHORTEST_STREAMED_PART
        if config.m_threads == 1 and parts <= fitting:
            most = min(PARTS_A_THREAD * config.n_threads, fitting, by_length)
            config = replace(config, n_threads=1, k_threads=max(parts, most))
        else:
            config = replace(config, n_threads=parts)
    return replace(
        config,
        inner_m=rows,
        inner_n=vectors * machine.lanes(problem.total.bits),
        inner_k=terms if terms == STREAMED_ROWS else 1,
        k_block=terms,
        order=K_BLOCKS_OUTERMOST,
        pack_a=part.k > terms or config.k_threads > 1,
        pack_b=False,
    )


def _dot_form(config: Config, part: Sizes, problem: Problem, machine: Machine) -> Config:
    """The config of the dot form: a few rows by a few rows of the transposed ``b``."""
    # Registers: one vector of sums for each element, one of each row of a, one of b.
    is_near = part.m * part.k * problem.dtype.bytes <= cache_bytes(machine, 1) * 3 // 4
    most = MOST_DOT_TILE_ROWS if is_near else MOST_DISTANT_DOT_TILE_ROWS
    tallest = min(most, machine.vector_registers // 4)
    rows = _dividing(part.m, tallest)
    widest = (machine.vector_registers - 1) // rows - 1
    most_columns = 2 * MOST_DOT_TILE_COLUMNS if rows <= 2 else MOST_DOT_TILE_COLUMNS
    columns = _dividing(part.n, min(widest, most_columns))
    return replace(
        config,
        n_threads=max(config.n_threads, config.k_threads),
        k_threads=1,
        inner_m=rows,
        inner_n=columns,
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
    """Choose the blocks of terms and rows, the loop order and the packing.

    A panel of ``b`` fills at most about a third of the L2 cache: with blocks of 1024 terms 2048^3
    went from 0.78 to 0.91 of peak in f32 (``notes/performance.md``).
    """
    near, element = cache_bytes(machine, 2), problem.dtype.bytes
    longest = max(SHORTEST_BLOCK, near // (3 * config.inner_n * element))
    is_row = part.m == 1 and part.k * part.n * element > cache_bytes(machine, 1)
    is_wide = part.n >= WIDE_ROW * machine.lanes(problem.total.bits)
    if is_row:
        # b is read once: read it row by row, as long as the sums stay in the L1 cache.
        longest = STREAMED_ROWS if is_wide else SHORTEST_BLOCK
    if is_row and is_wide and part.k > longest:
        columns = VECTORS_OF_ROW * machine.lanes(problem.total.bits)
        config = replace(config, inner_n=columns, inner_k=longest)
        config = replace(config, order=K_BLOCKS_OUTERMOST, k_block=longest)
    elif part.k > longest:
        is_small = part.m * part.n * problem.total.bytes <= near // 4
        bytes_a_term = (part.m + part.n) * element
        wanted = max(SHORTEST_BLOCK, near // 8 // bytes_a_term) if is_small else longest
        blocks = -(-part.k // wanted)
        # Blocks are whole cache lines. Otherwise the tiles that pack b and the prefetches of a
        # have a partial iteration in each block, which is a separate copy of the code.
        line = LINE_BYTES // element
        terms = -(-part.k // (blocks * line)) * line
        config = replace(config, order=K_BLOCKS_OUTERMOST, k_block=terms)
    rows_conflict = partial(_rows_conflict, problem, machine)
    is_distant = problem.sizes.m * problem.sizes.k * element > cache_bytes(machine, 3) // 4
    is_distant |= rows_conflict(problem.leading_a) and part.m * part.k * element > near
    if problem.transpose_a and is_distant:
        config = replace(config, m_block=ROWS_OF_BLOCK, pack_a=True)
        fitting = near // 4 // (ROWS_OF_BLOCK * element)
        if (config.k_block or part.k) > fitting:
            config = replace(config, order=K_BLOCKS_OUTERMOST, k_block=fitting)
    tiles = -(-part.m // config.inner_m)
    terms = config.k_block or part.k
    pays = part.m >= FEWEST_ROWS and terms * part.n * element > near
    if rows_conflict(problem.leading_b):
        is_panel_near = terms * config.inner_n * element <= cache_bytes(machine, 1)
        pays |= part.m >= (FEWEST_ROWS_CONFLICTING if is_panel_near else FEWEST_ROWS)
    # If the rows of a exceed the L2 cache, they are reloaded for each panel of b. Hardware
    # prefetchers do not follow the beginning of a row.
    in_rows = not (problem.transpose_a or problem.gaps_a)
    in_rows = in_rows and not (config.pack_a or config.k_threads > 1)
    is_far = in_rows and part.m * terms * element > near
    # A b with gaps is read element by element: pack it if it is read more than once.
    pays |= problem.gaps_b and tiles > 1
    return replace(
        config,
        pack_b=pays or problem.transpose_b,
        prefetch_a=is_far and tiles > 1,
    )


def _rows_conflict(problem: Problem, machine: Machine, leading: int) -> bool:
    """Whether rows at this distance, in elements, fall into the same sets of the caches."""
    return leading * problem.dtype.bytes % machine.page_bytes == 0


def _with_computed(config: Config, problem: Problem) -> Config:
    """Pack computed operands, so that they are computed into the cache just before their use.

    A row-major computed ``b`` that only one tile of rows reads is computed in registers instead.
    """
    if problem.computed_b:
        rows = part_sizes(config, problem.sizes).m
        config = replace(config, pack_b=problem.transpose_b or rows > config.inner_m)
    if problem.computed_a:
        if config.m_block is None and config.k_block is None:
            config = replace(config, m_block=ROWS_OF_BLOCK)
        loops = tile_loops(fitted(config, problem.sizes))
        is_packed = loop_of_packing("a", loops) is not None
        config = replace(config, pack_a=is_packed, prefetch_a=False)
    return config
