from collections.abc import Callable

import pytest

from polysched.errors import ScheduleError
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import assert_agrees, spread
from tests.support.showing import before_and_after

LENGTHS = (1, 3, 4, 5, 8, 11)


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(kernels.grid()).tile(("i", "j"), (4, 8))
    check_golden("schedule/tile.txt", before_and_after(schedule))


@pytest.mark.parametrize("factors", [(1, 1), (4, 3), (5, 16)])
def test_parametric(factors: tuple[int, int]) -> None:
    schedule = Schedule(kernels.grid()).tile(("i", "j"), factors)
    assert_agrees(schedule, *spread("n", "m", values=(0, *LENGTHS)))


@pytest.mark.parametrize("length", LENGTHS)
def test_rectangular(length: int) -> None:
    schedule = Schedule(kernels.matmul(length, 6, 7)).tile(("update.i", "update.j", "l"), (4, 4, 3))
    assert_agrees(schedule)


def test_triangular() -> None:
    schedule = Schedule(kernels.grid(triangular=True)).tile(("i", "j"), (4, 3))
    assert_agrees(schedule, *spread("n", values=(0, *LENGTHS)))


def test_triangular_with_unrolled_tile() -> None:
    schedule = Schedule(kernels.grid(triangular=True)).tile(("i", "j"), (4, 4)).unroll("ii", "ji")
    assert_agrees(schedule, *spread("n", values=(0, *LENGTHS)))


def test_of_some_loops_of_a_nest() -> None:
    schedule = Schedule(kernels.matmul()).tile(("update.i", "l"), (2, 4))
    assert_agrees(schedule, *spread("m", "n", "k", values=LENGTHS))


def test_given_names() -> None:
    schedule = Schedule(kernels.grid()).tile(("i", "j"), (2, 2), ("a", "b"), ("c", "d"))
    assert_agrees(schedule.reorder("d", "c"), *spread("n", "m", values=LENGTHS))


def test_skewed_sweeps_in_place() -> None:
    schedule = Schedule(kernels.seidel()).skew("i", "s").tile(("s", "i"), (2, 4))
    assert_agrees(schedule, *spread("t", "n", values=(1, 2, 5, 8)))


def test_as_many_factors_as_loops() -> None:
    with pytest.raises(ScheduleError, match="tile of 2 loops needs as many factors and names"):
        Schedule(kernels.grid()).tile(("i", "j"), (4,))


def test_not_perfectly_nested() -> None:
    with pytest.raises(ScheduleError, match="not perfectly nested"):
        Schedule(kernels.triangular_solve()).tile(("i", "j"), (4, 4))


def test_factor_zero() -> None:
    with pytest.raises(ScheduleError, match="is 0; expected a positive integer"):
        Schedule(kernels.grid()).tile(("i", "j"), (4, 0))
