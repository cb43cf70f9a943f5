"""Schedule of a transposed copy: tile order, threads, streaming stores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import TransposeStrategy
from polysched.library.on_demand import unscheduled
from polysched.machine.description import Machine

if TYPE_CHECKING:
    from polysched.user import Schedule

EDGE = 16
"""Rows and columns of the edge tiles, at most: edge tiles are masked."""


@dataclass(frozen=True)
class TileOrder:
    """The order in which tiles are copied, and how the output is written.

    Attributes:
        rows: tiles of a block across the rows of ``x``.
        columns: tiles of a block along the rows of ``x``.
        along_output: whether blocks, and the tiles of a block, follow the rows of ``y``; otherwise
            they follow the rows of ``x``.
        diagonal: whether the tiles of a block follow its diagonals.
        collected: whether a block of the output is collected in a buffer and then written row by
            row.
        streamed: whether the output is written by streaming stores.
        threaded: whether threads share the blocks.
        strategy: how a tile is transposed in registers.
    """

    rows: int
    columns: int
    along_output: bool = False
    diagonal: bool = False
    collected: bool = False
    streamed: bool = False
    threaded: bool = False
    strategy: TransposeStrategy = TransposeStrategy.NETWORK


IN_CACHE = TileOrder(rows=1, columns=1)
"""Along the rows of ``x``, which hardware prefetchers follow."""

CROWDED = TileOrder(rows=4, columns=1, along_output=True)
"""Along the rows of ``y``: if these fall into few cache sets, each line is finished soon."""

PAIRED = TileOrder(rows=2, columns=2, along_output=True)
"""Blocks of 2 x 2 tiles along the rows of ``y``: pairs of cache lines are read and written whole.

Processors fetch cache lines in pairs. In a longer walk across rows that fall into few cache sets,
the second line of a pair is evicted before it is used.
"""

DIAGONAL = TileOrder(rows=64, columns=64, diagonal=True)
"""Along diagonals of blocks of 64 x 64 tiles: each tile uses another column of cache lines.

So a diagonal spreads over all cache sets of ``x`` and ``y``, even if rows fall into few sets. The
second lines of fetched pairs are still cached when the next diagonal reads them. A page has 64
lines of 64 bytes, so the columns of lines repeat after 64 tiles.
"""

COLLECTED_BYTES = 512
"""Bytes of each output row in a collected block: eight consecutive cache lines."""

COLLECTED_COLUMNS = 64
"""Output rows of a collected block: with 512 bytes each they fill 32 KiB of the L1 cache."""

BLOCK_ROWS = 512
"""Rows of ``x`` in a block when the output is written by streaming stores."""


def past_cache(tile: int) -> TileOrder:
    """The order with streaming stores: four tiles of each row, in blocks that fit 256 KiB."""
    return TileOrder(rows=max(1, BLOCK_ROWS // tile), columns=4, streamed=True)


def collecting(tile: int, element_bytes: int) -> TileOrder:
    """The order that collects blocks of the output in a buffer.

    If the row pitch of the output is a multiple of the size of an L1 way, the lines that a tile
    writes fall into one set. A tile with more rows than the set has ways then evicts lines before
    they are complete. Consecutive lines of one row fall into different sets instead. Measured:
    1024^2 f32 from 0.41 to 0.60 of a copy (``notes/performance.md``).

    Args:
        tile: rows and columns of a tile.
        element_bytes: bytes of an element.
    """
    rows = max(1, COLLECTED_BYTES // (tile * element_bytes))
    return TileOrder(rows=rows, columns=max(1, COLLECTED_COLUMNS // tile), collected=True)


def tile_order_of(
    tile: int,
    pitch: int,
    *,
    is_large: bool,
    is_near: bool = True,
    diagonal: int,
    source_pitch: int | None = None,
    machine: Machine,
) -> TileOrder:
    """Choose the tile order by row pitches and cache sizes. The rules are measured.

    - Arrays that exceed the last cache use streaming stores.
    - If output rows do not fall into few cache sets, tiles follow the rows of ``x``. Beyond the L2
      cache they follow the longer rows, so that lines shared by two tiles are soon complete.
    - If they do, and the arrays exceed the L2 cache, tiles follow diagonals if these are long.
    - Otherwise blocks of 2 x 2 tiles are used if a page holds two whole rows or more, of ``x`` and
      of ``y``. If each row has a page of its own, rows of ``y`` are faster.

    Args:
        tile: rows and columns of a tile.
        pitch: bytes from one row of the output to the next.
        is_large: whether the arrays exceed the last cache.
        is_near: whether the arrays fit the L2 cache.
        diagonal: tiles of the longest diagonal in a thread's part of ``x``.
        source_pitch: bytes from one row of ``x`` to the next; by default that of the output.
    """
    if is_large:
        return past_cache(tile)
    pitches = pitch, pitch if source_pitch is None else source_pitch
    if pitch % machine.costs.crowding_pitch:
        return IN_CACHE if is_near or pitch < pitches[1] else CROWDED
    if not is_near and diagonal >= machine.costs.diagonal_tiles:
        return DIAGONAL
    page = machine.page_bytes
    shares_pages = all(row and 2 * row <= page and page % row == 0 for row in pitches)
    return PAIRED if shares_pages else CROWDED


def shared(tile_order: TileOrder, tiles: int, team: int) -> TileOrder:
    """The tile order for several threads: blocks of diagonals shrink so that each thread has one.

    Args:
        tiles: tiles across the rows of ``x``.
    """
    rows = tile_order.rows
    if tile_order.diagonal:
        # Round down to a power of two, so that few kernels serve all shapes.
        rows = min(rows, 1 << max(1, tiles // team).bit_length() - 1)
    return replace(tile_order, rows=rows, threaded=True)


def transpose_schedule(kernel: Kernel, tile: int, tile_order: TileOrder) -> Schedule:
    """Schedule a kernel of :func:`polysched.library.transpose.kernel.transpose_kernel`.

    Args:
        tile: the tile size that the kernel was declared with.
    """
    schedule = unscheduled(kernel)
    schedule = schedule.split("tiles.across", tile_order.rows, into=("row_block", "row_tile"))
    schedule = schedule.split(
        "tiles.along", tile_order.columns, into=("column_block", "column_tile")
    )
    loops = ["row_block", "column_block", "row_tile", "column_tile"]
    if tile_order.along_output:
        loops = ["column_block", "row_block", "column_tile", "row_tile"]
    schedule = schedule.reorder(*loops)
    if tile_order.collected:
        schedule = _collected(schedule, tile)
    if tile_order.diagonal:
        outer, inner = loops[2:]
        schedule = schedule.skew(inner, by=outer, factor=-1, into="diagonal")
        schedule = schedule.reorder("diagonal", outer)
    schedule = schedule.vectorize("of_column", tile).unroll("of_row")
    if tile > 1:
        schedule = schedule.transpose("of_columnv", "of_row", tile_order.strategy.value)
    edge = min(tile, EDGE)
    for statement in ("below", "beside"):
        schedule = schedule.split(f"{statement}.column", edge, into=("column_tile", "of_tile"))
        schedule = schedule.reorder(
            f"{statement}.column_tile", f"{statement}.row", f"{statement}.of_tile"
        )
        schedule = schedule.vectorize(f"{statement}.row", edge)
        schedule = schedule.unroll(f"{statement}.of_tile")
        if edge > 1:
            lanes, copies = f"{statement}.rowv", f"{statement}.of_tile"
            schedule = schedule.transpose(lanes, copies, tile_order.strategy.value)
    if tile_order.streamed:
        schedule = schedule.stream("y")
    if tile_order.threaded:
        schedule = schedule.parallel(loops[0])
    return schedule


def _collected(schedule: Schedule, tile: int) -> Schedule:
    """Collect the tiles of a block in a buffer, which is then written row by row."""
    schedule = schedule.promote("y", at="column_block", into="block")
    along = f"block_out.d{len(schedule.kernel.arrays['y'].shape) - 1}"
    schedule = schedule.split(along, tile, into=("out_vector", "out_lane"))
    return schedule.unroll("out_vector").vectorize("out_lane", tile)
