from collections.abc import Callable

import pytest

from polysched.errors import ScheduleError
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import assert_agrees, spread
from tests.support.showing import before_and_after


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(kernels.grid(None, 8)).collapse("i", "j", "ij")
    check_golden("schedule/collapse.txt", before_and_after(schedule))


def test_parametric_outer_loop() -> None:
    schedule = Schedule(kernels.grid(None, 8)).collapse("i", "j", "ij")
    assert_agrees(schedule, *spread("n", values=(0, 1, 5)))


@pytest.mark.parametrize("length", [1, 3, 8])
def test_rectangular(length: int) -> None:
    schedule = Schedule(kernels.grid(length, 5)).collapse("i", "j", "ij")
    assert_agrees(schedule)
    assert_agrees(schedule.vectorize("ij", 8))


def test_triangular() -> None:
    schedule = Schedule(kernels.grid(6, triangular=True)).collapse("i", "j", "ij")
    assert_agrees(schedule)
    assert_agrees(schedule.vectorize("ij", 4))


def test_two_halves_of_a_split_make_the_loop_again() -> None:
    schedule = Schedule(kernels.scale()).split("i", 4).collapse("io", "ii", "again")
    assert_agrees(schedule, *spread("n", values=(0, 1, 4, 7)))


def test_values_that_begin_elsewhere() -> None:
    schedule = Schedule(kernels.grid(4, 5)).shift("j", 3).reverse("j").collapse("i", "j", "ij")
    assert_agrees(schedule)


def test_not_directly_inside() -> None:
    with pytest.raises(ScheduleError, match="loop 'l' is not directly inside loop 'update.i'"):
        Schedule(kernels.matmul(2, 2, 2)).collapse("update.i", "l", "il")


def test_inner_loop_grows_with_a_parameter() -> None:
    with pytest.raises(ScheduleError, match="'j' cannot be collapsed.*split it by a literal first"):
        Schedule(kernels.grid()).collapse("i", "j", "ij")


def test_name_taken() -> None:
    with pytest.raises(ScheduleError, match="loop name 'l' is taken"):
        Schedule(kernels.matmul(2, 2, 2)).collapse("update.i", "update.j", "l")
