"""The cost model of contractions: what must hold of its answers, not its tuned numbers."""

from dataclasses import replace

import pytest

from polysched.machine.contraction_model import (
    TOLERANCE,
    TileStep,
    cheapest_tile,
    even_block,
    longest_block,
    near_l3_bytes,
    pays_packing,
    pays_short_blocks,
    pieces,
    tallest_tile,
    tile_cycles,
)
from polysched.machine.costs import Costs
from polysched.machine.presets import PRESETS

AVX512 = PRESETS["skylake-avx512"]
NEAR, L2 = AVX512.cache_bytes(1) // 2, AVX512.cache_bytes(2)


def test_the_busiest_resource_decides_the_cycles_of_a_term() -> None:
    def term(**work: float) -> float:
        step = replace(TileStep(1, 1, 1, 1), **work)
        return tile_cycles(step, 1001, NEAR, AVX512) - tile_cycles(step, 1, NEAR, AVX512)

    latency = 1000 * AVX512.fma_latency
    assert term() == term(arithmetic=2, loads=3) == latency
    assert term(arithmetic=24) == term(loads=24) == term(panel_loads=24)
    assert term(arithmetic=24) == 1000 * 24 / AVX512.fma_units
    assert term(chains=2) == 2 * latency
    assert term(slack=1.5) == 1.5 * latency


def test_a_distant_panel_is_loaded_more_slowly() -> None:
    step = TileStep(24, 24, 10, 4)
    near, far = (tile_cycles(step, 100, size, AVX512) for size in (NEAR, NEAR + 1))
    assert near == far  # four vectors hide behind 24 FMAs even so
    slow = replace(AVX512, costs=Costs(l2_load=10))
    assert tile_cycles(step, 100, NEAR + 1, slow) > near


def test_among_equally_fast_tiles_the_simplest_is_taken() -> None:
    cycles = {"slow": 1 + 2 * TOLERANCE, "loads": 1, "best": 1 + TOLERANCE / 2, "ragged": 1}
    kinds = {"slow": 1, "loads": 1, "best": 1, "ragged": 4}
    loads = {"slow": 0.1, "loads": 0.5, "best": 0.3, "ragged": 0.1}
    chosen = cheapest_tile([*cycles], [*cycles.values()], kinds.__getitem__, loads.__getitem__)
    assert chosen == "best"


def test_tiles_are_no_taller_than_a_cache_set() -> None:
    nearest = AVX512.cache(1)
    assert nearest is not None
    assert tallest_tile(AVX512) == nearest.associativity
    assert tallest_tile(replace(AVX512, caches=())) > 0


@pytest.mark.parametrize(("extent", "tile"), [(1, 4), (8, 4), (9, 4), (3, 1)])
def test_pieces_cover_the_extent(extent: int, tile: int) -> None:
    found = pieces(extent, tile)
    assert sum(size * count for size, count in found) == extent
    assert all(0 < size <= tile for size, _ in found)


@pytest.mark.parametrize("terms", [1, 100, 2000, 100_000])
@pytest.mark.parametrize("result_bytes", [64, L2])
def test_blocks_fit_the_second_cache(terms: int, result_bytes: int) -> None:
    panel, operands = 256, 4096
    longest = longest_block(terms, panel, operands, result_bytes, AVX512)
    if longest is None:
        assert 3 * terms * panel <= L2
        return
    assert AVX512.costs.block_terms <= longest
    assert 3 * longest * panel <= L2
    if result_bytes <= L2 // 4 and longest > AVX512.costs.block_terms:
        assert longest * operands <= L2 // 8


def test_a_huge_last_cache_is_partly_far() -> None:
    """Virtual machines report the last cache of the whole host."""
    *inner, last = AVX512.caches
    huge = replace(AVX512, caches=(*inner, replace(last, bytes=480 * 2**20)))
    assert near_l3_bytes(AVX512) == last.bytes
    assert near_l3_bytes(huge) == huge.costs.near_l3_bytes < 480 * 2**20
    assert pays_short_blocks(128 * 2**20, 9, huge)
    assert AVX512.near_caches == AVX512.caches
    assert huge.near_caches == (*inner, replace(last, bytes=huge.costs.near_l3_bytes))


def test_panels_in_place_are_short_if_they_come_from_memory_or_share_a_set() -> None:
    page, far = AVX512.page_bytes, AVX512.cache_bytes(3)
    assert [pays_short_blocks(size, step, AVX512) for size, step in ((far, 9), (9, page))] == [
        True,
        True,
    ]
    assert not pays_short_blocks(L2, page + 64, AVX512)
    short = longest_block(5000, 256, 4096, L2, AVX512, is_short=True)
    assert short == AVX512.costs.prefetched_block_terms
    assert longest_block(short, 256, 4096, L2, AVX512, is_short=True) is None


@pytest.mark.parametrize(("terms", "longest"), [(100, 99), (1000, 64), (777, 500)])
@pytest.mark.parametrize("multiple", [1, 8, 16])
def test_blocks_are_even(terms: int, longest: int, multiple: int) -> None:
    block = even_block(terms, longest, multiple)
    assert block % multiple == 0
    assert block < longest + multiple
    assert -(-terms // block) <= -(-terms // longest)


def test_packing_pays_from_some_number_of_rows_on() -> None:
    page = AVX512.page_bytes
    for step, size, panel in (
        (1000, 2 * L2, L2),  # beyond L2
        (1000, L2 // 2, L2 // 4),  # beyond the TLB
        (page, L2 // 2, 1000),  # steps in one set, a panel in L1
        (page, L2 // 2, L2 // 4),  # steps in one set
    ):
        pays = [pays_packing(rows, step, 500, size, panel, AVX512) for rows in range(0, 2000, 10)]
        assert pays == sorted(pays)
        assert not pays[0]
        assert pays[-1]
    assert not pays_packing(10_000, 64, 500, L2 // 2, 1000, AVX512)
    narrow, wide = (pays_packing(40, 2000, 500, L2 // 2, 500 * row, AVX512) for row in (96, 256))
    assert narrow
    assert not wide
    pays = [
        pays_packing(rows, page, 500, 2 * L2, L2, AVX512, is_prefetched=True)
        for rows in (900, 1100)
    ]
    assert pays == [False, True]


def test_a_panel_of_more_than_half_of_l1_is_not_packed_for_its_sets() -> None:
    step = AVX512.page_bytes // 16  # the lines of every panel exceed the ways of their sets
    pays = [pays_packing(64, step, 256, L2 // 8, panel, AVX512) for panel in (NEAR, 2 * NEAR)]
    assert pays == [True, False]
