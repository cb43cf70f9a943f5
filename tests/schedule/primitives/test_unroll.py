from collections.abc import Callable

import pytest

from polysched.errors import ScheduleError
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import assert_agrees, spread
from tests.support.showing import before_and_after

SIZES = (0, 1, 3, 4, 5, 8)


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(kernels.grid(None, 3)).unroll("j")
    check_golden("schedule/unroll.txt", before_and_after(schedule))


@pytest.mark.parametrize("factor", [1, 3, 4])
def test_factor_parametric(factor: int) -> None:
    schedule = Schedule(kernels.matmul()).unroll("l", factor=factor)
    assert_agrees(schedule, *spread("m", "n", "k", values=SIZES))


@pytest.mark.parametrize("length", [1, 3, 4, 5])
def test_whole_rectangular(length: int) -> None:
    assert_agrees(Schedule(kernels.grid(length, length + 1)).unroll("i", "j"))


def test_whole_triangular() -> None:
    assert_agrees(Schedule(kernels.grid(5, triangular=True)).unroll("i", "j"))


@pytest.mark.parametrize("loop", ["i", "j"])
def test_factor_triangular(loop: str) -> None:
    schedule = Schedule(kernels.grid(triangular=True)).unroll(loop, factor=3)
    assert_agrees(schedule, *spread("n", values=SIZES))


@pytest.mark.parametrize("loop", ["i", "j"])
def test_steps(loop: str) -> None:
    schedule = Schedule(kernels.stepped()).unroll(loop, factor=4)
    assert_agrees(schedule, *spread("n", values=(*SIZES, 12, 13)))


def test_several_statements_and_a_loop_inside() -> None:
    schedule = Schedule(kernels.triangular_solve()).unroll("i", factor=4)
    assert_agrees(schedule, *spread("n", values=SIZES))


def test_recurrence() -> None:
    schedule = Schedule(kernels.prefix()).unroll("i", factor=4)
    assert_agrees(schedule, *spread("n", values=(1, 2, 4, 5, 6, 9)))


def test_unroll_and_jam() -> None:
    schedule = (
        Schedule(kernels.matmul())
        .split("update.i", 3)
        .reorder("io", "update.j", "l", "ii")
        .unroll("ii")
        .promote("c", at="update.j")
    )
    assert_agrees(schedule, *spread("m", "n", "k", values=SIZES))


def test_shifted_statements_share_a_loop() -> None:
    fused = Schedule(kernels.chain()).fuse("P.i", "C.i").fuse("P.j", "C.j")
    schedule = fused.shift("j", 2, "C").unroll("j", factor=3)
    assert_agrees(schedule, *spread("n", "m", values=SIZES))


def test_extent_grows_with_a_parameter() -> None:
    with pytest.raises(ScheduleError, match="'i' cannot be unrolled whole: .* pass factor="):
        Schedule(kernels.scale()).unroll("i")


def test_too_many_copies() -> None:
    with pytest.raises(ScheduleError, match="its number of iterations is 5000"):
        Schedule(kernels.scale(5000)).unroll("i")


@pytest.mark.parametrize("factor", [0, -4])
def test_factor_must_be_positive(factor: int) -> None:
    with pytest.raises(ScheduleError, match="the factor of unroll.* expected a positive integer"):
        Schedule(kernels.scale()).unroll("i", factor=factor)


def test_twice() -> None:
    with pytest.raises(ScheduleError, match="loop 'j' is unrolled already"):
        Schedule(kernels.grid(None, 3)).unroll("j", "j")


def test_name_taken() -> None:
    schedule = Schedule(kernels.grid()).split("i", 4, into=("jo", "ii"))
    with pytest.raises(ScheduleError, match="loop name 'jo' is taken"):
        schedule.unroll("j", factor=2)
