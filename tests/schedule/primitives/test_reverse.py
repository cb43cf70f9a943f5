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
    check_golden("schedule/reverse.txt", before_and_after(Schedule(kernels.scale()).reverse("i")))


def test_parametric() -> None:
    schedule = Schedule(kernels.grid()).reverse("i").reverse("j")
    assert_agrees(schedule, *spread("n", "m", values=SIZES))
    assert_agrees(schedule.vectorize("j", 4), *spread("n", "m", values=SIZES))


@pytest.mark.parametrize("length", [1, 3, 8])
def test_rectangular(length: int) -> None:
    schedule = Schedule(kernels.matmul(length, 3, 4)).reverse("l").reverse("update.i")
    assert_agrees(schedule)
    assert_agrees(schedule.split("l", 4).unroll("li"))


def test_triangular() -> None:
    schedule = Schedule(kernels.grid(triangular=True)).reverse("j").split("j", 4)
    assert_agrees(schedule, *spread("n", values=SIZES))


def test_of_steps() -> None:
    schedule = Schedule(kernels.stepped()).reverse("j").vectorize("j", 4)
    assert_agrees(schedule, *spread("n", values=SIZES))


def test_of_a_recurrence_is_refused() -> None:
    assert check(Schedule(kernels.prefix()).reverse("i")).kind is VerdictKind.ILLEGAL


def test_twice_is_the_loop_again() -> None:
    schedule = Schedule(kernels.prefix()).reverse("i").reverse("i")
    assert_agrees(schedule, *spread("n", values=(1, 4, 7)))


def test_unknown_loop() -> None:
    with pytest.raises(ScheduleError, match="no loop 'k'; known are 'i', 'j'"):
        Schedule(kernels.grid()).reverse("k")
