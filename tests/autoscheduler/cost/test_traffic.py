"""Traffic of stencils: rows that stay in a cache, and tiles of skewed bands."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from polysched.autoscheduler.cost.traffic import Stream, memory_cycles, stream_footprint
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.operations import Operations
from polysched.autoscheduler.facts.statement import AccessFacts, LoopFacts, StatementFacts
from polysched.frontends.scop import parse_c
from polysched.ir.core.tree import LoopKind
from polysched.machine.presets import PRESETS
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.primitives.tile import Tile
from polysched.schedule.schedule import Schedule

AVX512 = PRESETS["skylake-avx512"]
ROW = 80_000
"""Bytes of a row: three of them exceed the first-level cache."""


ROW_SUMS = """
void rows(int n, int m, const float A[n][m], float s[restrict n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) s[i] += A[i][j];
}
"""


def access(array: str, strides: dict[str, int], offset: int = 0) -> AccessFacts:
    return AccessFacts(array, array == "B", 8, strides, offset, is_argument=True)


def stream(strides: dict[str, int], *offsets: int) -> Stream:
    return Stream(access("A", strides), offsets, 1, math.inf)


def test_rows_apart_are_pieces_until_a_loop_joins_them() -> None:
    both = {"i": ROW, "j": 8}
    rows = stream(both, 0, ROW, 2 * ROW)
    columns = LoopFacts("j", 1000.0)
    assert stream_footprint(rows, [columns], 64) == (pytest.approx(3 * 125, rel=0.01), math.inf)
    inside = stream_footprint(rows, [LoopFacts("i", 8.0), columns], 64)
    assert inside[0] == pytest.approx(10 * 125, rel=0.01)


def test_neighbors_in_a_row_share_their_lines() -> None:
    near = stream({"j": 8}, 0, 8, 16)
    assert stream_footprint(near, [LoopFacts("j", 1000.0)], 64)[0] == pytest.approx(125, rel=0.02)


def test_the_time_loop_of_a_skewed_tile_widens_it() -> None:
    strides = {"t": -2 * ROW, "i": ROW, "j": 8}
    loops = [LoopFacts("t", 4.0), LoopFacts("i", 8.0), LoopFacts("j", 1000.0)]
    assert stream_footprint(stream(strides, 0), loops, 64)[0] == pytest.approx(14 * 125, rel=0.01)


def test_a_loop_that_leaps_over_the_tile_multiplies_it() -> None:
    strides = {"t": 100 * ROW, "i": ROW, "j": 8}
    loops = [LoopFacts("t", 4.0), LoopFacts("i", 8.0), LoopFacts("j", 1000.0)]
    assert stream_footprint(stream(strides, 0), loops, 64)[0] == pytest.approx(32 * 125, rel=0.01)


def test_jammed_rows_lower_the_traffic_into_the_first_cache() -> None:
    row_bytes = 16_000  # twenty rows of both arrays fit the second-level cache
    both = {"i": row_bytes, "j": 8}
    reads = [access("A", both, offset) for offset in (-row_bytes, 0, row_bytes)]
    loops = (LoopFacts("i", 20.0), LoopFacts("j", 2000.0))
    row = StatementFacts("S", loops, (access("B", both), *reads), Operations(2, 0, 0), 64, False)
    jammed = row.split("i", 4, "io", "ii").ordered(("io", "j", "ii"))
    jammed = jammed.marked("ii", LoopKind.UNROLLED)
    assert memory_cycles(jammed, AVX512)[1] < 0.85 * memory_cycles(row, AVX512)[1]


def test_lanes_run_together_whichever_loop_is_inside() -> None:
    strides = {"j": 64, "l": 8}
    loops = (LoopFacts("l", 8.0, LoopKind.VECTOR, 8), LoopFacts("j", 100_000.0))
    outside = StatementFacts("S", loops, (access("B", strides),), Operations(0, 0, 0), 64, False)
    inside = replace(outside, loops=loops[::-1])
    assert memory_cycles(outside, AVX512) == memory_cycles(inside, AVX512)


def test_trip_counts_of_skewed_tiles_make_the_number_of_instances() -> None:
    text = """
    void sweep(int T, int n, double A[restrict n])
    {
        for (int t = 0; t < T; t++)
            for (int i = 1; i < n - 1; i++)
                A[i] = A[i - 1] + A[i + 1];
    }
    """
    schedule = Schedule(parse_c(text).kernel)
    for step in (
        Skew("A.i", by="A.t", factor=2),
        Tile(("A.t", "A.i"), (8, 128), ("to", "io"), ("ti", "ii")),
    ):
        schedule = schedule.then(step)
    facts = statement_facts(schedule.program, "A", {"T": 120, "n": 120})
    assert facts.instances == pytest.approx(120 * 118, rel=0.5)


@pytest.mark.parametrize("copies", [1, 8])
def test_rows_at_once_are_short_runs_for_the_prefetchers(copies: int) -> None:
    def cycles_per_line(m: int) -> float:
        schedule = Schedule(parse_c(ROW_SUMS).kernel).split("s.j", 16, ("jo", "ji"))
        if copies > 1:
            schedule = schedule.split("s.i", copies, ("io", "ii")).reorder("s.jo", "s.ii")
            schedule = schedule.unroll("s.ii").vectorize("s.ji", 16)
        sizes = {"n": 2**20 // m, "m": m}
        _, cycles = memory_cycles(statement_facts(schedule.program, "s", sizes), AVX512)
        return cycles / (sizes["n"] * m / 16)

    alike = pytest.approx(cycles_per_line(16384), rel=0.02)
    assert (cycles_per_line(256) == alike) == (copies == 1)
    assert cycles_per_line(4096) == alike


@pytest.mark.parametrize(("rows", "is_dearer"), [(1000, True), (8, False)])
def test_narrow_strips_cost_more_if_they_have_more_rows_than_are_followed(
    rows: int, is_dearer: bool
) -> None:
    def cycles(columns: int) -> float:
        """The traffic of sums down the columns of a matrix of 4 MB, strip by strip."""
        row, strip = 4_000_000 // rows, 8 * columns
        loops = (
            LoopFacts("jo", row / strip),
            LoopFacts("i", float(rows)),
            LoopFacts("ji", float(columns)),
        )
        read = access("A", {"jo": strip, "i": row, "ji": 8})
        sums = access("B", {"jo": strip, "ji": 8})
        facts = StatementFacts("S", loops, (sums, read), Operations(1, 0, 0), 64, True)
        return memory_cycles(facts, AVX512)[1]

    assert (cycles(25) > 1.1 * cycles(100)) == is_dearer
