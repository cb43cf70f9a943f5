"""Transposed copies by every strategy, type and machine; all sizes: ``sweep.py`` beside this."""

from dataclasses import replace
from functools import partial

import pytest

from polysched.inspect.assembly import parse
from polysched.ir.core.tree import TransposeStrategy
from polysched.ir.expr.dtypes import DType, u8, u16, u32, u64
from polysched.library.transpose.kernel import transpose_kernel
from polysched.library.transpose.schedule import (
    CROWDED,
    DIAGONAL,
    IN_CACHE,
    PAIRED,
    TileOrder,
    collecting,
    past_cache,
    shared,
    transpose_schedule,
)
from polysched.library.transpose.schedule import tile_order_of as tile_order_on
from polysched.lower import show
from polysched.machine.load import load_machine
from tests.library.transpose.copies import (
    LARGEST,
    MACHINES,
    STRATEGIES,
    assert_transposes,
    compiled,
)
from tests.support.differential import assert_agrees
from tests.support.effort import covering, sampled

NETWORK = TransposeStrategy.NETWORK
EXTENTS = (1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 48, 63, 64, 65, LARGEST)
SIZES = [(rows, EXTENTS[(3 * at + 5) % len(EXTENTS)]) for at, rows in enumerate(EXTENTS)]
SIZES += [(columns, rows) for rows, columns in SIZES] + [(65, 65), (64, 64), (16, 16), (70, 1)]


@pytest.mark.parametrize(
    ("dtype", "streamed"), [(u8, False), (u16, True), (u32, False), (u32, True), (u64, True)]
)
def test_types(dtype: DType, streamed: bool) -> None:
    for rows, columns in SIZES:
        assert_transposes(compiled(dtype, NETWORK, "host", streamed=streamed), rows, columns)


@pytest.mark.parametrize("strategy", [one for one in STRATEGIES if one is not NETWORK])
def test_strategies(strategy: TransposeStrategy) -> None:
    for rows, columns in SIZES:
        assert_transposes(compiled(u32, strategy, "host"), rows, columns)


@covering(1, machine=[one for one in MACHINES if one != "host"], dtype=[u8, u32])
def test_machines(machine: str, dtype: DType) -> None:
    for rows, columns in SIZES:
        assert_transposes(compiled(dtype, NETWORK, machine), rows, columns)


def test_threads() -> None:
    kernel = transpose_kernel((1, 0), u32, 16)
    schedule = transpose_schedule(kernel, 16, replace(IN_CACHE, threaded=True))
    names = [function.name for function in parse(show(schedule, "asm"))]
    assert "transpose_10.region0" in names


def test_whole_tiles_have_no_gather_and_no_spill() -> None:
    """Of the copies of the tile in the code, the whole one takes 64 shuffles and nothing else."""
    schedule = transpose_schedule(transpose_kernel((1, 0), u32, 16), 16, IN_CACHE)
    function, *_ = parse(show(schedule, "asm", "skylake-avx512"))
    loops = [loop.counts for loop in function.loops if loop.is_innermost]
    assert all(counts.gathers == counts.scatters == 0 for counts in loops)
    whole = [one for one in loops if one.vector_loads == 16 and not one.masked]
    assert any(one.shuffles == 64 and not one.spills for one in whole)


MACHINE = load_machine("skylake-avx512")
tile_order_of = partial(tile_order_on, machine=MACHINE, diagonal=MACHINE.costs.diagonal_tiles)


def test_tile_orders() -> None:
    assert [past_cache(tile).rows for tile in (16, 64, 1024)] == [32, 8, 1]
    assert tile_order_of(16, 4000, is_large=False) == IN_CACHE
    assert tile_order_of(16, 4096, is_large=False) == CROWDED
    assert tile_order_of(16, 4096, is_large=True) == past_cache(16)


def test_tiles_follow_the_longer_rows() -> None:
    beyond = partial(tile_order_of, 16, is_large=False, is_near=False)
    assert beyond(4000, source_pitch=4004) == IN_CACHE
    assert beyond(4004, source_pitch=4000) == beyond(4000, source_pitch=4000) == CROWDED
    assert tile_order_of(16, 4004, source_pitch=4000, is_large=False) == IN_CACHE


def test_pages_that_hold_whole_rows_are_visited_in_pairs() -> None:
    assert (
        tile_order_of(16, 2048, is_large=False) == tile_order_of(64, 1024, is_large=False) == PAIRED
    )
    assert tile_order_of(16, 3072, is_large=False) == CROWDED
    assert tile_order_of(16, 2048, source_pitch=1024, is_large=False) == PAIRED
    assert tile_order_of(16, 2048, source_pitch=8192, is_large=False) == CROWDED
    assert tile_order_of(16, 2048, source_pitch=2000, is_large=False) == CROWDED
    assert tile_order_of(16, 0, is_large=False) == CROWDED
    large_pages = replace(MACHINE, page_bytes=1 << 14)
    assert tile_order_of(16, 4096, machine=large_pages, is_large=False) == PAIRED
    assert tile_order_of(16, 2048, is_large=True) == past_cache(16)


def test_what_crowds_and_comes_from_afar_is_visited_along_long_diagonals() -> None:
    assert (
        tile_order_of(
            16, 2048, is_large=False, is_near=False, diagonal=MACHINE.costs.diagonal_tiles
        )
        == DIAGONAL
    )
    assert tile_order_of(16, 2048, is_large=False, is_near=False, diagonal=15) == PAIRED
    assert tile_order_of(16, 4096, is_large=False, is_near=False, diagonal=15) == CROWDED
    assert tile_order_of(16, 2000, is_large=False, is_near=False) == CROWDED
    assert tile_order_of(16, 4096, is_large=True, is_near=False) == past_cache(16)


def test_blocks_that_are_collected_have_half_of_a_kib_of_each_row() -> None:
    assert collecting(16, 4) == TileOrder(rows=8, columns=4, collected=True)
    assert collecting(64, 1) == TileOrder(rows=8, columns=1, collected=True)


def test_every_thread_has_a_block() -> None:
    assert [shared(DIAGONAL, tiles, 2).rows for tiles in (1, 32, 100, 1000)] == [1, 16, 32, 64]
    assert shared(CROWDED, 100, 8) == replace(CROWDED, threaded=True)


def test_tiles_follow_diagonals() -> None:
    tile_order = replace(DIAGONAL, rows=2, columns=3)
    text = show(transpose_schedule(transpose_kernel((1, 0), u32, 8), 8, tile_order), "loops")
    heads = [line.split()[1] for line in text.splitlines() if line.lstrip().startswith("for ")]
    assert heads[:4] == ["row_block", "column_block", "diagonal", "row_tile"]


def test_every_tile_order_transposes() -> None:
    short = replace(DIAGONAL, rows=2, columns=3)
    along = replace(DIAGONAL, rows=3, columns=2, along_output=True)
    blocks = TileOrder(rows=2, columns=3, collected=True)
    tile_orders = CROWDED, IN_CACHE, PAIRED, DIAGONAL, short, past_cache(8), blocks, along
    for tile_order in sampled(tile_orders, 2):
        schedule = transpose_schedule(transpose_kernel((1, 0), u32, 8), 8, tile_order)
        assert_agrees(schedule, {"e0": 37, "e1": 50}, {"e0": 8, "e1": 9}, interpreted=False)
