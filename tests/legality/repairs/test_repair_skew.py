import pytest

from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.checks.carried import dependences_within
from polysched.legality.repairs.repair import StepEdit
from polysched.legality.repairs.repair_skew import band_skews, common_loops, skews
from polysched.schedule.core.program import Program, find_loop
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import transform
from tests.legality.kernels import copy_shifted, matmul, seidel
from tests.legality.repairing import case_of
from tests.support.kernels import jacobi, seidel_plane


def is_permutable(program: Program, ends: tuple[str, ...]) -> bool:
    """Whether no loop around the statements has a negative distance."""
    band = common_loops(program, ends)
    demands = dependences_within(program, band[0])
    return all(one.backward(loop).is_empty() for one in demands for loop in band)


def test_a_plane_is_skewed_in_both_directions() -> None:
    program = Schedule(seidel_plane()).program
    steps = band_skews(program, ("S",))
    assert steps == (Skew("i", "s"), Skew("j", "s"))
    assert not is_permutable(program, ("S",))
    for step in steps:
        program = transform(program, step)
    assert is_permutable(program, ("S",))


@pytest.mark.parametrize(("row", "column", "factor"), [(1, 1, 1), (1, 2, 2), (2, 1, 1), (2, 2, 1)])
def test_the_factor_is_the_smallest_that_suffices(row: int, column: int, factor: int) -> None:
    program = Schedule(copy_shifted(row, column)).reverse("j").program
    assert band_skews(program, ("S",)) == (Skew("j", "i", factor),)


def test_distances_that_grow_together_need_no_more_than_the_nearest() -> None:
    build = KernelBuilder("diagonals")
    n = build.parameter("n", minimum=8)
    a = build.inout("a", i32, (n, n))
    with build.loops(t=(3, n), i=n - 3, k=(1, 4)) as (t, i, k), build.statement("S"):
        a[t, i] = a[t, i] + a[t - k, i + k]
    assert band_skews(Schedule(build.kernel()).program, ("S",))[0] == Skew("i", "t", 1)


def test_a_band_without_negative_distances_is_left_alone() -> None:
    assert band_skews(Schedule(matmul()).program, ("update",)) == ()
    assert band_skews(Schedule(copy_shifted(1, 1)).program, ("S",)) == ()


def test_a_loop_that_no_skew_mends_ends_the_band() -> None:
    assert band_skews(Schedule(copy_shifted(0, 1)).reverse("j").program, ("S",)) == ()


def test_loops_around_both_statements() -> None:
    program = Schedule(jacobi()).program
    assert [loop.name for loop in common_loops(program, ("there", "back"))] == ["s"]
    assert common_loops(program, ("there",))[1] is find_loop(program, "there.i")


def inserted(edits: list[StepEdit]) -> list[tuple[int, object]]:
    return [(edit.first, edit.inserted) for edit in edits]


def test_skews_come_before_the_guilty_step_or_earlier() -> None:
    schedule = Schedule(seidel()).split("t", 4).split("i", 8).reorder("to", "io", "ti", "ii")
    edits = skews(case_of(schedule))
    assert [edit.first for edit in edits] == sorted((edit.first for edit in edits), reverse=True)
    assert inserted(edits)[-1] == (0, (Skew("i", "t"),))


def test_few_skews_are_tried_before_many() -> None:
    schedule = Schedule(seidel_plane()).tile(("s", "i", "j"), (2, 2, 2))
    first, second = Skew("i", "s"), Skew("j", "s")
    assert inserted(skews(case_of(schedule))) == [(0, (first,)), (0, (first, second))]


def test_lanes_are_not_skewed() -> None:
    assert skews(case_of(Schedule(seidel()).vectorize("i", 4))) == []
