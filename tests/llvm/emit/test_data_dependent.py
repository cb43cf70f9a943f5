"""Subscripts that depend on data, run as declared, as loops, with registers and as machine code."""

from pathlib import Path

import numpy as np
import pytest

from polysched.ir.expr.dtypes import INTEGER_DTYPES, DType
from polysched.lower import compile, lower, show
from polysched.schedule.schedule import Schedule
from tests.loops.compiling import run_c
from tests.support.differential import NO_CACHE, arguments, assert_agrees, spread
from tests.support.indirect import (
    accumulate_rows,
    embedding,
    gather,
    histogram,
    nested,
    permutation,
    scatter_in_rows,
    scatter_sums,
    sparse_product,
    through_a_temporary,
)

SIZES = ({"n": 1, "m": 1}, {"n": 7, "m": 3}, {"n": 16, "m": 40}, {"n": 37, "m": 5})


@pytest.mark.parametrize("index", INTEGER_DTYPES)
def test_a_gather_with_indices_of_every_type(index: DType) -> None:
    assert_agrees(Schedule(gather(index)).vectorize("i", 8), *SIZES)


def test_gathers_are_vector_instructions() -> None:
    schedule = Schedule(gather()).vectorize("i", 16)
    assert "vgatherdps" in show(schedule, "asm", "sapphirerapids")


def test_the_index_array_packed() -> None:
    schedule = Schedule(gather()).split("i", 16).pack("idx", "io")
    assert_agrees(schedule, *SIZES)
    assert_agrees(schedule.vectorize("ii", 16).vectorize("idx_packed.d0", 8), *SIZES)


def test_the_index_array_packed_and_unrolled() -> None:
    schedule = Schedule(histogram()).split("i", 4).pack("idx", "io")
    assert_agrees(schedule.unroll("ii", "idx_packed.d0"), *SIZES)


def test_a_packed_index_that_is_overwritten_beside_its_use() -> None:
    schedule = Schedule(histogram()).pack("idx", "i")
    assert_agrees(schedule, *SIZES)
    assert_agrees(schedule.unroll("H.i", factor=4), *SIZES)


def test_a_place_that_moves_inside_of_a_loop_is_kept_in_no_register() -> None:
    schedule = Schedule(accumulate_rows()).reorder("k", "i").pack("b", "i")
    assert_agrees(schedule, *spread("n", "m", "width", values=(1, 4, 9)))
    assert_agrees(schedule.unroll("i", factor=2), *spread("n", "m", "width", values=(1, 4, 9)))


def test_threads_with_rows_of_their_own() -> None:
    assert_agrees(Schedule(scatter_in_rows()).parallel("i"), *SIZES)
    assert_agrees(Schedule(embedding()).parallel("S.i"), {"n": 9, "words": 3, "vocabulary": 5})


def test_a_histogram() -> None:
    schedule = Schedule(histogram())
    assert_agrees(schedule, *SIZES)
    assert_agrees(schedule.reverse("i").split("i", 4).unroll("ii").vectorize("j", 8), *SIZES)
    assert_agrees(Schedule(histogram("exact")).unroll("i", factor=4), *SIZES)


def test_a_sparse_product() -> None:
    sizes = spread("n", "m", "width", values=(1, 3, 8, 17))
    schedule = Schedule(sparse_product())
    assert_agrees(schedule, *sizes)
    assert_agrees(schedule.distribute("i").vectorize("S.i", 8), *sizes)
    assert_agrees(schedule.distribute("i").reorder("k", "S.i").vectorize("S.i", 8), *sizes)


def test_a_sum_of_rows_of_a_table() -> None:
    sizes = spread("n", "words", "vocabulary", values=(1, 3, 5))
    schedule = Schedule(embedding()).split("S.c", 16).reorder("co", "S.k", "ci")
    assert_agrees(schedule.promote("y", "co", lanes=16).vectorize("ci", 16), *sizes)


def test_a_permutation() -> None:
    schedule = Schedule(permutation())
    for size in (1, 5, 16, 33):
        order = np.random.default_rng(size).permutation(size).astype(np.int32)
        assert_agrees(schedule.unroll("i", factor=4), {"n": size}, given={"p": order})
    assert_agrees(schedule, {"n": 20})


def test_a_scatter_whose_lanes_have_rows_of_their_own() -> None:
    schedule = Schedule(scatter_in_rows()).vectorize("i", 8)
    assert_agrees(schedule, *SIZES)
    assert "llvm.masked.scatter" in show(schedule, "llvm")


def test_an_accumulator_whose_place_depends_on_data_is_kept_in_a_register() -> None:
    schedule = Schedule(accumulate_rows())
    assert_agrees(schedule, *spread("n", "m", "width", values=(1, 4, 9)))
    inner = show(schedule, "llvm").partition("k.body")[2].partition("k.end")[0]
    assert "store float" in show(schedule, "llvm")
    assert inner.count("load i32") == 0, "the index is read once a row"


def test_partial_results_of_sums_whose_places_depend_on_data() -> None:
    schedule = Schedule(scatter_sums()).split("k", 4).rfactor("S", "ki").vectorize("ki", 4)
    assert_agrees(schedule, *spread("n", "m", "width", values=(1, 4, 9)))


def test_nested_indices() -> None:
    sizes = spread("n", "m", "k", values=(1, 4, 17))
    assert_agrees(Schedule(nested()).vectorize("i", 8), *sizes)


def test_a_temporary_that_is_gathered_from() -> None:
    schedule = Schedule(through_a_temporary())
    assert_agrees(schedule.vectorize("i", 8).vectorize("j", 8), *SIZES)
    assert_agrees(schedule.compute_at("t", "i"), *SIZES)


def test_the_text_in_c_says_what_the_caller_has_to_see_to() -> None:
    text = show(Schedule(gather()), "c")
    assert "/* 0 <= value < m for every value in idx */\nint gather(" in text
    assert "x[(int64_t)idx[i] + 1]" in text


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(gather()).vectorize("i", 8),
        Schedule(histogram()).split("i", 4).pack("idx", "io"),
        Schedule(scatter_in_rows()).vectorize("i", 4),
        Schedule(nested()).split("i", 4),
    ],
)
def test_the_text_in_c(schedule: Schedule, tmp_path: Path) -> None:
    sizes = {"n": 13, "m": 5, "k": 3}
    sizes = {name: sizes[name] for name in schedule.kernel.parameters}
    given = arguments(schedule.kernel, sizes)
    got = run_c(lower(schedule), given, sizes, tmp_path)
    copies = {name: array.copy() for name, array in given.items()}
    compile(schedule, cache=NO_CACHE)(**copies, **sizes)
    for name, array in got.items():
        np.testing.assert_array_equal(copies[name], array)
