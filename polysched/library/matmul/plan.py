"""Choosing the config by a model of the machine; nothing here changes a program.

In the order of the deep-tiled design: the register tile, the threads, the blocks and the order of
the loops by where the operands live, and what is worth packing.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from polysched.ir.cache_lines import LINE_BYTES
from polysched.library.matmul.config import Config, fitted
from polysched.library.matmul.groups import grouping_of, of_groups
from polysched.library.matmul.kernel import Sizes
from polysched.library.matmul.operands import Grouping
from polysched.library.matmul.problem import Problem
from polysched.library.matmul.register_tile import cache_bytes, part_sizes, with_register_tile
from polysched.library.matmul.sharing import PARTS_A_THREAD, in_more_parts, with_threads
from polysched.library.matmul.tiling import loop_of_packing, tile_loops
from polysched.machine.description import Machine

FEWEST_ROWS = 128
"""Rows of the product for which copying ``b`` pays; each element is used so often."""

FEWEST_ROWS_APART = 64
"""The same where the rows of ``b`` meet in one set of a cache that could hold them."""

MOST_DOT_ROWS = 16
"""Rows of the product for which it pays to read a transposed ``b`` as it lies."""

MOST_ROWS_ALONG = 7
"""Rows of a register tile there: each is a vector beside the sums."""

COLUMNS_ALONG = 4
"""Columns of a register tile there at most, but for a row or two."""

VECTORS_BESIDE_ROWS = 2
"""Vectors of terms that it takes there, beside one for each row: to add up the partial sums of a
column is as dear for each row, and soon dearer than to turn ``b`` once for all of them.
"""

MOST_DISTANT_ROWS_ALONG = 5
"""The same where the rows of ``a`` come from the second cache again for each tile."""

SHORTEST_STREAM = 8
"""Rows of ``b`` that are read side by side, at least, where it comes from memory."""

WIDE_ROW = 16
"""Vectors of a single row of sums from which on a few rows of ``b`` are read side by side, each
from one end to the other, and the sums come and go from the nearest cache.
"""

VECTORS_OF_ROW = 4
"""Vectors of such sums in registers."""

FEWEST_STREAMED_APART = 2 * SHORTEST_STREAM
"""Rows of the product for which streaming ``b`` pays where the sums lie apart: those of a short
block take longer to come and go, one by one, than its terms.
"""

SHORTEST_BLOCK = 64
"""Terms of a block at least: each block loads and stores all the sums."""

ROWS_OF_BLOCK = 256
"""Rows of a block where a transposed ``a`` is copied: neighbors for the processor, which reads a
register tile of it from as many places as there are terms.
"""

STREAMED_PARTS_A_THREAD = 2
"""Parts for each thread where ``b`` is streamed: small ones are slow, they read short pieces of
rows.
"""

SHORTEST_STREAMED_PART = 16 * SHORTEST_STREAM
"""Terms of a part at least, of more parts than that."""

COPIED_TOGETHER = (256, 1024)
"""Terms and columns of a block in which a ``b`` is copied in groups whose rows meet in one set of
the caches: it is read in long pieces, not column by column.
"""

ROWS_INSIDE = "pmpnpkokonomiminik"
"""Blocks outermost, which are copied whole; all rows read them."""

BLOCKS_OUTSIDE = "pmpnpkokonominimik"
"""Blocks of the sums outermost, in each all columns."""


def plan(problem: Problem, machine: Machine, threads: int = 1) -> Config:
    """The config for a problem on a machine.

    Args:
        problem: what is computed.
        machine: where.
        threads: how many threads may run.
    """
    grouping = grouping_of(problem, machine)
    if grouping is not None:
        return _grouped(problem, grouping, machine, threads)
    config = with_threads(problem, machine, threads)
    part = part_sizes(replace(config, inner_m=1, inner_n=1, inner_k=1), problem.sizes)
    if _is_along_sums(part, problem, machine):
        config = in_more_parts(_along_sums(config, part, problem, machine), part)
    elif (chains := _chains(problem, machine)) > 1:
        config = Config(parallel_batch=config.parallel_batch, pack_b=False, chains=chains)
        config = replace(config, inner_m=problem.sizes.m, inner_n=problem.sizes.n)
    elif _is_streamed(part, problem, machine):
        config = _streaming(config, part, problem, machine)
    else:
        config = with_register_tile(config, problem, machine)
        config = _with_blocks(config, part, problem, machine)
        config = in_more_parts(config, part)
    if not config.along_k:
        config = _with_computed(config, problem)
    return fitted(config, problem.sizes)


def _grouped(problem: Problem, grouping: Grouping, machine: Machine, threads: int) -> Config:
    """The config of the product of 32-bit elements that it is like; ``b`` is copied anyway."""
    alike, terms = of_groups(problem, grouping), grouping.terms
    config = with_threads(alike, machine, threads)
    part = part_sizes(replace(config, inner_m=1, inner_n=1, inner_k=1), alike.sizes)
    config = _with_blocks(with_register_tile(config, alike, machine), part, alike, machine)
    config = replace(config, pack_b=True, prefetch_a=False, inner_k=config.inner_k * terms)
    is_distant = problem.sizes.k * problem.sizes.n * problem.dtype.bytes > cache_bytes(machine, 2)
    meet = not problem.transpose_b and _meets_itself(problem, machine, problem.leading_b)
    if meet and is_distant and part.m < FEWEST_ROWS:
        length, width = COPIED_TOGETHER
        block = width if part.n > 2 * width else None
        config = replace(config, order=ROWS_INSIDE, k_block=length, n_block=block)
    else:
        block = None if config.k_block is None else config.k_block * terms
        config = in_more_parts(replace(config, k_block=block), part)
    return fitted(config, problem.sizes)


def _is_along_sums(part: Sizes, problem: Problem, machine: Machine) -> bool:
    """Whether a transposed ``b`` is read as it lies, by dot products of a few rows."""
    vectors = part.m + VECTORS_BESIDE_ROWS
    fewest = max(SHORTEST_BLOCK, vectors * machine.lanes(problem.total.bits))
    return problem.transpose_b and part.m <= MOST_DOT_ROWS and part.k >= fewest


def _chains(problem: Problem, machine: Machine) -> int:
    """Partial sums of each element that are worth their addition: as many as FMAs can be under way,
    where the product has fewer sums than half of that. Parts of vectors, whose other lanes are put
    back after each FMA, take longer.
    """
    sizes, lanes = problem.sizes, machine.lanes(problem.total.bits)
    vectors = sizes.m * -(-sizes.n // lanes)
    wanted = machine.fma_latency * machine.fma_units
    if problem.computed_a or problem.computed_b or problem.transpose_b:
        return 1
    if 2 * vectors > wanted or sizes.k < SHORTEST_BLOCK:
        return 1
    is_partial = sizes.n & (sizes.n - 1) > 0 and sizes.n % lanes > 0
    fitting = (machine.vector_registers - 1 - sizes.n // lanes) // vectors - 1
    return max(1, min((2 if is_partial else 1) * wanted // vectors, fitting))


def _is_streamed(part: Sizes, problem: Problem, machine: Machine) -> bool:
    """Whether ``b`` comes from memory, and too few rows read it to hide that."""
    b_bytes = part.k * part.n * problem.dtype.bytes
    is_distant = b_bytes > cache_bytes(machine, 3) // 2
    if part.m < FEWEST_STREAMED_APART and _is_apart(problem):
        return False
    return part.m < FEWEST_ROWS and is_distant and not (problem.transpose_b or problem.gaps_b)


def _is_apart(problem: Problem) -> bool:
    """Whether neighbors in a row of the result lie apart, so that sums come and go one by one."""
    return problem.strides_out is not None and problem.strides_out[-1] != 1


def _streaming(config: Config, part: Sizes, problem: Problem, machine: Machine) -> Config:
    """A few whole rows of ``b`` at a time, each read once from its first to its last element; the
    more rows of the product, the longer a block may be without waiting for memory.
    """
    # A vector of sums for each row, one of b and one of a.
    tallest = min(16, machine.vector_registers - 2)
    heights = -(-part.m // tallest)
    rows = -(-part.m // heights)
    widest = (machine.vector_registers - 1) // (rows + 1)
    vectors = max(1, min(widest, 16 // rows, 4) if rows <= SHORTEST_STREAM else min(widest, 2))
    terms = min(max(part.m, SHORTEST_STREAM), 8 * SHORTEST_STREAM)
    sizes, parts = problem.sizes, STREAMED_PARTS_A_THREAD * config.n_threads
    if config.n_threads > 1:
        # Parts of the sums read whole rows, and each has all the sums.
        sums = sizes.m * sizes.n * problem.total.bytes
        fitting = cache_bytes(machine, 2) // 2 // sums
        long = sizes.k // SHORTEST_STREAMED_PART
        if config.m_threads == 1 and parts <= fitting:
            most = min(PARTS_A_THREAD * config.n_threads, fitting, long)
            config = replace(config, n_threads=1, k_threads=max(parts, most))
        else:
            config = replace(config, n_threads=parts)
    return replace(
        config,
        inner_m=rows,
        inner_n=vectors * machine.lanes(problem.total.bits),
        inner_k=terms if terms == SHORTEST_STREAM else 1,
        k_block=terms,
        order=BLOCKS_OUTSIDE,
        pack_a=part.k > terms or config.k_threads > 1,
        pack_b=False,
    )


def _along_sums(config: Config, part: Sizes, problem: Problem, machine: Machine) -> Config:
    """Dot products of a few rows by a few rows of the transposed ``b``, all read once."""
    # A vector of sums for each row and column, one of each row and one of b.
    is_near = part.m * part.k * problem.dtype.bytes <= cache_bytes(machine, 1) * 3 // 4
    most = MOST_ROWS_ALONG if is_near else MOST_DISTANT_ROWS_ALONG
    tallest = min(most, machine.vector_registers // 4)
    rows = _dividing(part.m, tallest)
    widest = (machine.vector_registers - 1) // rows - 1
    most_columns = 2 * COLUMNS_ALONG if rows <= 2 else COLUMNS_ALONG
    columns = _dividing(part.n, min(widest, most_columns))
    return replace(
        config,
        n_threads=max(config.n_threads, config.k_threads),
        k_threads=1,
        inner_m=rows,
        inner_n=columns,
        pack_a=problem.transpose_a or problem.gaps_a,
        pack_b=False,
        along_k=True,
    )


def _dividing(extent: int, most: int) -> int:
    """The largest size of tiles, up to ``most`` and from half of it on, that cuts an extent in
    equal ones; else the one that cuts it in as few, as equal as can be.

    A partial tile is code of its own, which takes as long to make as that of the whole ones.
    """
    sizes = range(most, max(1, -(-most // 2)) - 1, -1)
    even = next((size for size in sizes if extent % size == 0), None)
    return even or -(-extent // -(-extent // most))


def _with_blocks(config: Config, part: Sizes, problem: Problem, machine: Machine) -> Config:
    """Blocks of the sums, the order of the loops and what is packed."""
    near, element = cache_bytes(machine, 2), problem.dtype.bytes
    longest = max(SHORTEST_BLOCK, near // (3 * config.inner_n * element))
    is_row = part.m == 1 and part.k * part.n * element > cache_bytes(machine, 1)
    is_wide = part.n >= WIDE_ROW * machine.lanes(problem.total.bits)
    if is_row:
        # What is read once is read row after row, as far as the sums are at hand.
        longest = SHORTEST_STREAM if is_wide else SHORTEST_BLOCK
    if is_row and is_wide and part.k > longest:
        columns = VECTORS_OF_ROW * machine.lanes(problem.total.bits)
        config = replace(config, inner_n=columns, inner_k=longest)
        config = replace(config, order=BLOCKS_OUTSIDE, k_block=longest)
    elif part.k > longest:
        is_small = part.m * part.n * problem.total.bytes <= near // 4
        both = (part.m + part.n) * element
        wanted = max(SHORTEST_BLOCK, near // 8 // both) if is_small else longest
        blocks = -(-part.k // wanted)
        # Of whole lines: then the tiles that pack b and the prefetches of a have no rest in each
        # block, which is code of its own.
        line = LINE_BYTES // element
        terms = -(-part.k // (blocks * line)) * line
        config = replace(config, order=BLOCKS_OUTSIDE, k_block=terms)
    meets_itself = partial(_meets_itself, problem, machine)
    is_distant = problem.sizes.m * problem.sizes.k * element > cache_bytes(machine, 3) // 4
    is_distant |= meets_itself(problem.leading_a) and part.m * part.k * element > near
    if problem.transpose_a and is_distant:
        config = replace(config, m_block=ROWS_OF_BLOCK, pack_a=True)
        fitting = near // 4 // (ROWS_OF_BLOCK * element)
        if (config.k_block or part.k) > fitting:
            config = replace(config, order=BLOCKS_OUTSIDE, k_block=fitting)
    tiles = -(-part.m // config.inner_m)
    terms = config.k_block or part.k
    pays = part.m >= FEWEST_ROWS and terms * part.n * element > near
    if meets_itself(problem.leading_b):
        is_panel_near = terms * config.inner_n * element <= cache_bytes(machine, 1)
        pays |= part.m >= (FEWEST_ROWS_APART if is_panel_near else FEWEST_ROWS)
    # The rows of a come anew for each panel of b, and where they begin, nobody expects them.
    in_rows = not (problem.transpose_a or problem.gaps_a)
    in_rows = in_rows and not (config.pack_a or config.k_threads > 1)
    is_far = in_rows and part.m * terms * element > near
    # What has gaps is read element by element.
    pays |= problem.gaps_b and tiles > 1
    return replace(
        config,
        pack_b=pays or problem.transpose_b,
        prefetch_a=is_far and tiles > 1,
    )


def _meets_itself(problem: Problem, machine: Machine, leading: int) -> bool:
    """Whether rows so many elements apart fall into the same sets of the caches."""
    return leading * problem.dtype.bytes % machine.page_bytes == 0


def _with_computed(config: Config, problem: Problem) -> Config:
    """What is computed gets where it is packed: in the cache, shortly before it is multiplied. What
    one tile of rows reads, once, is not.
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
