"""The choices; that every one computes what it should is tested with the kernels."""

from __future__ import annotations

import pytest

from polysched.errors import ScheduleError
from polysched.ir.core.tree import path
from polysched.legality.check import check
from polysched.library.axes import Size, along_first, along_last, size_of
from polysched.library.gemv import gemv_kernel
from polysched.library.reduce import Axis, Combine, reduce_kernel
from polysched.machine.load import load_machine
from polysched.user import Schedule


def loops(schedule: Schedule) -> list[str]:
    return [loop.name for loop in path(schedule.program.tree, "update")]


def matrix(results: int, terms: int, axis: Axis) -> Schedule:
    return Schedule(reduce_kernel(Combine.SUM, results, terms, axis=axis))


@pytest.mark.parametrize(("results", "terms"), [(0, 5), (5, 0)])
def test_nothing_is_left_as_it_is(results: int, terms: int) -> None:
    size = Size(results, terms, 16, 2)
    assert along_last(matrix(results, terms, Axis.LAST), size).steps == ()
    assert along_first(matrix(results, terms, Axis.FIRST), size).steps == ()


def test_long_rows_share_a_tile() -> None:
    schedule = along_last(Schedule(gemv_kernel(9, 5000)), Size(9, 5000, 16, 1), 4)
    assert loops(schedule) == ["tile", "term_vectors", "row", "term_lane", "term_lanev"]
    schedule = along_last(Schedule(gemv_kernel(1, 100)), Size(1, 100, 16, 1), 4)
    assert loops(schedule)[0] == "result"


@pytest.mark.parametrize(
    ("terms", "inner"), [(33, ["row", "term_vectors", "term_lane"]), (32, ["term", "row"])]
)
def test_rows_are_folded_together_or_lanes(terms: int, inner: list[str]) -> None:
    schedule = along_last(matrix(40, terms, Axis.LAST), Size(40, terms, 16, 1))
    assert [loop for loop in loops(schedule) if loop[-1] != "v"] == ["tile", *inner]
    assert check(schedule).is_legal


@pytest.mark.parametrize(
    ("results", "terms", "threads", "block"),
    [
        (1, 100, 1, 1),
        (3, 100, 1, 4),
        (16, 100, 1, 16),
        (1000, 4096, 1, 16),
        (1000, 4097, 1, 1),
        (40, 4000, 8, 4),
        (9, 20000, 8, 1),
    ],
)
def test_how_many_results_are_computed_together(
    results: int, terms: int, threads: int, block: int
) -> None:
    assert Size(results, terms, 16, threads).block == block


@pytest.mark.parametrize(
    ("results", "inner"),
    [
        (8, ["block", "row", "result"]),
        (128, ["term", "result"]),
        (129, ["block", "result", "row"]),
    ],
)
def test_along_first_keeps_few_results_in_registers(results: int, inner: list[str]) -> None:
    schedule = along_first(matrix(results, 100, Axis.FIRST), Size(results, 100, 16, 1))
    assert [loop for loop in loops(schedule) if loop != "resultv"] == inner


@pytest.mark.parametrize(
    ("results", "parallel"),
    [(1, "part"), (2, "result"), (100, "tile"), (1000, "tile")],
)
def test_threads_along_last(results: int, parallel: str) -> None:
    terms = 3000
    schedule = along_last(matrix(results, terms, Axis.LAST), Size(results, terms, 16, 2))
    assert f"parallel {parallel} " in schedule.show("loops")


@pytest.mark.parametrize(("results", "is_partial"), [(20, True), (1000, False)])
def test_threads_along_first(results: int, is_partial: bool) -> None:
    terms = 3000
    schedule = along_first(matrix(results, terms, Axis.FIRST), Size(results, terms, 16, 2))
    assert "parallel part " in schedule.show("loops")
    assert ("of_thread" in schedule.program.arrays) == is_partial


def test_small_matrices_get_one_thread() -> None:
    machine = load_machine("skylake-avx512")
    few = machine.costs.parallel_elements // 1000
    for rows, threads, expected in ((few, 8, 1), (few + 1, 8, 8), (few + 1, 1, 1)):
        size = size_of(gemv_kernel(rows, 1000), "a", "gemv_kernel", machine, threads)
        assert size.threads == expected


def test_no_threads() -> None:
    with pytest.raises(ScheduleError, match=r"threads is -1; expected at least 1"):
        Size(1, 1, 16, -1)
