from __future__ import annotations

from itertools import product

import pytest

from polysched.errors import ScheduleError
from polysched.inspect.assembly import hot_loop, parse
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32
from polysched.library.folding import FEW_LANES, VECTORS, folded_together, in_vectors, vectors_for
from polysched.user import Schedule
from tests.support.differential import assert_agrees
from tests.support.effort import covering


def sums(rows: int, columns: int, order: str = "any") -> Kernel:
    build = KernelBuilder("sums")
    x = build.input("x", f32, (rows, columns))
    y = build.output("y", f32, (rows,), dimensions="at")
    with build.loops(row=rows) as row, build.statement("init"):
        y[row] = 0
    with (
        build.loops(row=rows, column=columns) as (row, column),
        build.statement("S", order=order),
    ):
        y[row] += x[row, column]
    return build.kernel()


@pytest.mark.parametrize(
    ("extent", "vectors"), [(0, 1), (1, 1), (16, 1), (17, 2), (127, 8), (128, 8), (5000, VECTORS)]
)
def test_vectors_for(extent: int, vectors: int) -> None:
    assert vectors_for(extent, 16) == vectors


@covering(1, vectors=[1, 2, 4], columns=[1, 4, 15, 16, 17, 50])
def test_every_term_once(vectors: int, columns: int) -> None:
    schedule = in_vectors(Schedule(sums(3, columns)), "S", "column", 4, vectors)
    assert schedule.check().is_legal
    assert_agrees(schedule)


@pytest.mark.parametrize("columns", [1, 5, 33])
def test_a_long_vector_is_reduced_to_few_lanes_first(columns: int) -> None:
    schedule = in_vectors(Schedule(sums(3, columns)), "S", "column", 16, 2)
    assert schedule.check().is_legal
    assert_agrees(schedule)
    row = in_vectors(Schedule(sums(1, 64)), "S", "column", 16, 2)
    assert row.show("asm", "skylake-avx512").count("vaddss") <= FEW_LANES + 1


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7])
def test_several_results_at_once(rows: int) -> None:
    schedule = Schedule(sums(rows, 21)).split("S.row", 2, into=("tile", "inner"))
    schedule = in_vectors(schedule, "S", "column", 4, 2, ("inner",))
    assert schedule.check().is_legal
    assert_agrees(schedule)


def rows_folded_together(rows: int, columns: int, block: int, vectors: int) -> Schedule:
    schedule = Schedule(sums(rows, columns)).split("S.row", block, into=("tile", "inner"))
    return folded_together(schedule, "S", "column", 4, vectors, "inner", block)


@covering(
    1,
    columns=[1, 4, 50],
    **{"of, vectors": product([(1, 2), (3, 4), (9, 4), (8, 4), (3, 1)], [1, 3])},
)
def test_rows_folded_together(of: tuple[int, int], columns: int, vectors: int) -> None:
    rows, block = of
    schedule = rows_folded_together(rows, columns, block, vectors)
    assert schedule.check().is_legal
    assert_agrees(schedule)


def test_a_square_of_partial_results_is_transposed() -> None:
    """One fold of whole vectors for all rows, no lane for itself."""
    schedule = Schedule(sums(64, 400)).split("S.row", 16, into=("tile", "inner"))
    schedule = folded_together(schedule, "S", "column", 16, 5, "inner", 16)
    counts = parse(schedule.show("asm", "skylake-avx512"))[0].loops[-1].counts
    assert counts.gathers == 0
    assert counts.single_lane == 0


def test_partial_results_are_registers() -> None:
    """Eight additions of an element in memory each, and nothing else."""
    schedule = in_vectors(Schedule(sums(3, 1024)), "S", "column", 16)
    loop = hot_loop(parse(schedule.show("asm", "skylake-avx512"))[0])
    assert loop is not None
    counts = loop.counts
    assert counts.vector_arithmetic == VECTORS
    assert (counts.stores, counts.spills, counts.vector_loads) == (0, 0, 0)


def test_the_order_of_the_program_is_kept() -> None:
    with pytest.raises(ScheduleError, match=r"must combine in the program's order"):
        in_vectors(Schedule(sums(3, 40, "exact")), "S", "column", 4)
