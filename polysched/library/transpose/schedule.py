"""The schedule of a transposed copy: the order of tiles, threads, streaming stores."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.ir.kernel import Kernel
from polysched.ir.tree import TransposeStrategy
from polysched.user import Schedule

EDGE = 16
"""Lanes and copies of the tiles at the edges, at most: they run under masks."""


@dataclass(frozen=True)
class TileOrder:
    """How tiles are visited.

    Attributes:
        rows: tiles of a block across the rows of x.
        columns: tiles of a block along the rows of x.
        along_output: whether tiles follow the rows of y, blocks and those in a block; otherwise
            those of x.
        diagonal: whether the tiles of a block follow its diagonals, whatever the blocks do.
        collected: whether a block of the output is collected in a buffer and then written by rows.
        streamed: whether the output is written past the caches.
        threaded: whether blocks are shared among threads.
        strategy: how tiles are transposed.
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
"""Row by row of x: the processor fetches ahead what comes next."""

CROWDED = TileOrder(rows=4, columns=1, along_output=True)
"""Row by row of y: where its rows fall into few sets of a cache, its lines are left soon."""

PAIRED = TileOrder(rows=2, columns=2, along_output=True)
"""Two by two, along y: where vectors are cache lines, pairs of lines are read and written whole.

Processors fetch the second line of a pair with the first. In a longer walk across rows that fall
into few sets, it is driven out before its turn comes.
"""

DIAGONAL = TileOrder(rows=64, columns=64, diagonal=True)
"""Along diagonals: of rows that fall into few sets, every tile takes another column of lines.

So one diagonal spreads over all sets, on both sides, and what the processor fetches beside a line
is still there when the next diagonal asks for it. A page has 64 lines of 64 bytes: after so many
tiles the columns of lines come again.
"""

LEAST_DIAGONAL = 16
"""Tiles from which on a diagonal is long enough: shorter ones measured slower than long walks."""

CROWDING = 1024
"""Bytes: rows of the output apart by multiples of it fall into few sets."""

COLLECTED_BYTES = 512
"""Of a row of the output in a block that is collected: eight lines, one behind the other."""

COLLECTED_COLUMNS = 64
"""Rows of the output in such a block; with rows so long it takes 32 KiB, of the first cache."""

BLOCK_ROWS = 512
"""Rows of x in a block of what goes past the caches."""


def past_cache(tile: int) -> TileOrder:
    """Four tiles of each row at a time, in blocks of rows that a cache of 256 KiB holds."""
    return TileOrder(rows=max(1, BLOCK_ROWS // tile), columns=4, streamed=True)


def collecting(tile: int, element_bytes: int) -> TileOrder:
    """Blocks of the output that are collected first.

    Where the rows of the output lie apart by a multiple of what a way of the first cache holds, the
    lines that a tile writes share a set. Tiles of more rows than the set has ways then drive out
    lines that are about to be written; lines of one row, one behind the other, each have their set.

    Args:
        tile: rows and columns of a tile.
        element_bytes: of an element.
    """
    rows = max(1, COLLECTED_BYTES // (tile * element_bytes))
    return TileOrder(rows=rows, columns=max(1, COLLECTED_COLUMNS // tile), collected=True)


def tile_order_of(
    tile: int,
    pitch: int,
    *,
    is_large: bool,
    is_near: bool = True,
    diagonal: int = LEAST_DIAGONAL,
    source_pitch: int | None = None,
    page_bytes: int = 4096,
) -> TileOrder:
    """How to tile_order tiles.

    What crowds and comes from beyond the second cache is visited along diagonals, if they are long.
    Otherwise pairs of lines are visited where pages hold two whole rows or more, on both sides.
    Elsewhere each row has its page, the pairs of a block are as many pages to fetch from, and long
    walks along the rows of y measured faster. Where nothing crowds, tiles follow the longer rows:
    lines that two tiles write are complete at once, or read whole.

    Args:
        tile: rows and columns of a tile.
        pitch: bytes from one row of the output to the next.
        is_large: whether the arrays do not fit the last cache.
        is_near: whether they fit the second cache.
        diagonal: how many tiles the longest diagonal has, of the part of x that a thread gets.
        source_pitch: bytes from one row of x to the next; by default that of the output.
        page_bytes: the size of a page of memory.
    """
    if is_large:
        return past_cache(tile)
    pitches = pitch, pitch if source_pitch is None else source_pitch
    if pitch % CROWDING:
        return IN_CACHE if is_near or pitch < pitches[1] else CROWDED
    if not is_near and diagonal >= LEAST_DIAGONAL:
        return DIAGONAL
    shares_pages = all(one and 2 * one <= page_bytes and page_bytes % one == 0 for one in pitches)
    return PAIRED if shares_pages else CROWDED


def shared(tile_order: TileOrder, tiles: int, team: int) -> TileOrder:
    """The tile_order by a team of threads: diagonals so short that each of them has a block.

    Args:
        tile_order: of one thread.
        tiles: across the rows of x.
        team: the number of threads.
    """
    rows = tile_order.rows
    if tile_order.diagonal:
        # Powers of two, so that few kernels serve all shapes.
        rows = min(rows, 1 << max(1, tiles // team).bit_length() - 1)
    return replace(tile_order, rows=rows, threaded=True)


def transpose_schedule(kernel: Kernel, tile: int, tile_order: TileOrder) -> Schedule:
    """Schedule a kernel of :func:`polysched.library.transpose.kernel.transpose_kernel`.

    Args:
        kernel: the copy.
        tile: the tile that it was declared with.
        tile_order: how its tiles are visited.
    """
    schedule = Schedule(kernel)
    schedule = schedule.split("tiles.across", tile_order.rows, into=("row_block", "row_tile"))
    schedule = schedule.split(
        "tiles.along", tile_order.columns, into=("column_block", "column_tile")
    )
    order = ["row_block", "column_block", "row_tile", "column_tile"]
    if tile_order.along_output:
        order = ["column_block", "row_block", "column_tile", "row_tile"]
    schedule = schedule.reorder(*order)
    if tile_order.collected:
        schedule = _collected(schedule, tile)
    if tile_order.diagonal:
        outer, inner = order[2:]
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
        schedule = schedule.parallel(order[0])
    return schedule


def _collected(schedule: Schedule, tile: int) -> Schedule:
    """The tiles of a block go to a buffer, which is then written row by row."""
    schedule = schedule.promote("y", at="column_block", into="block")
    along = f"block_out.d{len(schedule.kernel.arrays['y'].shape) - 1}"
    schedule = schedule.split(along, tile, into=("out_vector", "out_lane"))
    return schedule.unroll("out_vector").vectorize("out_lane", tile)
