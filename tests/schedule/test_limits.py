import pytest

from polysched.errors import ScheduleError
from polysched.schedule.schedule import Schedule
from tests.support import kernels


def grid() -> Schedule:
    return Schedule(kernels.grid())


def test_loops_nested_too_deep() -> None:
    schedule, name = grid(), "i"
    for number in range(62):
        schedule = schedule.split(name, 1, into=(f"o{number}", f"i{number}"))
        name = f"o{number}"
    with pytest.raises(ScheduleError, match="65 loops would be nested in each other; expected at"):
        schedule.split(name, 1)


def test_numbers_that_do_not_fit_64_bits() -> None:
    schedule = grid().split("i", 2**40).split("io", 2**22)
    with pytest.raises(ScheduleError, match="loop 'iooo' would be computed with numbers that"):
        schedule.split("ioo", 2)


def test_skews_of_skews() -> None:
    schedule = Schedule(kernels.matmul()).skew("update.j", "update.i", 2**20)
    with pytest.raises(ScheduleError, match="the value of loop 'l' would be computed with numbers"):
        schedule.skew("l", "update.j", 2**20)


def test_copies_of_several_unrolled_loops() -> None:
    schedule = Schedule(kernels.grid(64, 64)).unroll("i")
    schedule.split("j", 16).unroll("ji")
    with pytest.raises(
        ScheduleError,
        match="unrolled loops 'i', 'j' would write statement 'S' out 4,096 times; expected at most",
    ):
        schedule.unroll("j")


def test_copies_of_one_unrolled_loop_and_another_step() -> None:
    schedule = Schedule(kernels.grid(64, 64)).unroll("i").reverse("j")
    assert schedule.split("j", 8).unroll("ji").steps
