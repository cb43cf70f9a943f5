from collections.abc import Callable

import pytest

from polysched.errors import ScheduleError
from polysched.legality.check import check
from polysched.legality.verdicts.verdict import VerdictKind
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import assert_agrees, spread
from tests.support.showing import before_and_after

SIZES = (0, 1, 4, 7)


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(kernels.grid()).skew("j", by="i", factor=2)
    check_golden("schedule/skew.txt", before_and_after(schedule))


@pytest.mark.parametrize("factor", [1, 2, -1, -3])
def test_parametric(factor: int) -> None:
    schedule = Schedule(kernels.grid()).skew("j", "i", factor)
    assert_agrees(schedule, *spread("n", "m", values=SIZES))
    assert_agrees(schedule.reorder("j", "i"), *spread("n", "m", values=SIZES))


@pytest.mark.parametrize("length", [1, 3, 8])
def test_rectangular(length: int) -> None:
    assert_agrees(Schedule(kernels.seidel(3, length)).skew("i", "s", into="wave"))


def test_triangular() -> None:
    schedule = Schedule(kernels.grid(triangular=True)).skew("j", "i").reorder("j", "i")
    assert_agrees(schedule, *spread("n", values=SIZES))


def test_wavefront_in_vectors() -> None:
    schedule = Schedule(kernels.seidel()).skew("i", "s", 2).reorder("i", "s").vectorize("s", 4)
    assert_agrees(schedule, *spread("t", "n", values=(1, 2, 5, 8)))


def test_tiles_of_sweeps_over_a_plane() -> None:
    schedule = (
        Schedule(kernels.seidel_plane())
        .skew("i", "s")
        .skew("j", "s")
        .skew("j", "i")
        .tile(("s", "i", "j"), (2, 2, 4))
    )
    assert_agrees(schedule, *spread("t", "n", "m", values=(1, 3, 4, 6)))


def test_without_the_skew_the_tiles_are_refused() -> None:
    schedule = Schedule(kernels.seidel()).tile(("s", "i"), (2, 4))
    assert check(schedule).kind is VerdictKind.ILLEGAL
    assert check(Schedule(kernels.seidel()).skew("i", "s").tile(("s", "i"), (2, 4))).is_legal


def test_factor_of_zero() -> None:
    with pytest.raises(ScheduleError, match="expected an integer other than 0"):
        Schedule(kernels.grid()).skew("j", "i", 0)


@pytest.mark.parametrize(("loop", "by"), [("i", "j"), ("i", "i")])
def test_loop_that_is_not_around(loop: str, by: str) -> None:
    with pytest.raises(ScheduleError, match=f"loop '{by}' is not around loop 'i'"):
        Schedule(kernels.grid()).skew(loop, by)


def test_name_taken() -> None:
    with pytest.raises(ScheduleError, match="loop name 'i' is taken"):
        Schedule(kernels.grid()).skew("j", "i", into="i")
