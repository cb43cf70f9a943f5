from collections.abc import Callable

import pytest

from polysched.errors import ScheduleError
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import assert_agrees, spread
from tests.support.showing import before_and_after

LENGTHS = (1, 4, 7, 8, 9)


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(kernels.scale()).split("i", 4)
    check_golden("schedule/split.txt", before_and_after(schedule))


@pytest.mark.parametrize("factor", [1, 3, 4, 16])
def test_parametric(factor: int) -> None:
    schedule = Schedule(kernels.scale()).split("i", factor)
    assert_agrees(schedule, *spread("n", values=(0, *LENGTHS)))


@pytest.mark.parametrize("length", LENGTHS)
def test_rectangular(length: int) -> None:
    schedule = Schedule(kernels.grid(length, 5)).split("j", 4).split("i", 3, into=("a", "b"))
    assert_agrees(schedule)


@pytest.mark.parametrize("loop", ["i", "j"])
def test_triangular(loop: str) -> None:
    schedule = Schedule(kernels.grid(triangular=True)).split(loop, 4)
    assert_agrees(schedule, *spread("n", values=(0, *LENGTHS)))


def test_a_part_split_again() -> None:
    schedule = Schedule(kernels.scale()).split("i", 12).split("ii", 5).split("io", 2)
    assert_agrees(schedule, *spread("n", values=(0, 1, 11, 12, 13, 25, 37)))


def test_steps_of_the_declared_loop() -> None:
    schedule = Schedule(kernels.stepped()).split("i", 4).split("j", 3)
    assert_agrees(schedule, *spread("n", values=(0, 1, 2, 7, 12)))


def test_several_statements_in_one_loop() -> None:
    schedule = Schedule(kernels.triangular_solve()).split("i", 4).split("j", 3)
    assert_agrees(schedule, *spread("n", values=(0, 1, 3, 8, 9)))


def test_unknown_loop_names_the_nearest() -> None:
    schedule = Schedule(kernels.grid()).split("j", 4, into=("column", "inner"))
    with pytest.raises(ScheduleError, match=r"no loop 'columns'; did you mean 'column'\?"):
        schedule.split("columns", 4)


def test_unknown_statement_before_the_dot() -> None:
    with pytest.raises(ScheduleError, match=r"no statement 'T' \(in loop 'T.i'\)"):
        Schedule(kernels.grid()).split("T.i", 4)


@pytest.mark.parametrize("factor", [0, -1])
def test_factor_must_be_positive(factor: int) -> None:
    with pytest.raises(ScheduleError, match="the factor of split.* expected a positive integer"):
        Schedule(kernels.scale()).split("i", factor)


def test_name_taken() -> None:
    with pytest.raises(ScheduleError, match="loop name 'j' is taken around statement 'S'"):
        Schedule(kernels.grid()).split("i", 4, into=("io", "j"))


def test_two_equal_names() -> None:
    with pytest.raises(ScheduleError, match="two new loops would both be named 'a'"):
        Schedule(kernels.grid()).split("i", 4, into=("a", "a"))


def test_name_must_be_an_identifier() -> None:
    with pytest.raises(ScheduleError, match="loop name 'i o' is not an identifier"):
        Schedule(kernels.grid()).split("i", 4, into=("i o", "ii"))


def test_ambiguous_loop_shows_how_to_name_it() -> None:
    with pytest.raises(ScheduleError, match="'i' is ambiguous.*'P.i', 'C.i'"):
        Schedule(kernels.chain()).split("i", 4)


def test_vector_loop_is_whole() -> None:
    with pytest.raises(ScheduleError, match="loop 'iv' is vectorized already"):
        Schedule(kernels.scale()).vectorize("i", 4).split("iv", 2)


def test_message_shows_the_step() -> None:
    with pytest.raises(ScheduleError, match=r"^split\(loop='z', factor=4\): no loop 'z'"):
        Schedule(kernels.scale()).split("z", 4)
