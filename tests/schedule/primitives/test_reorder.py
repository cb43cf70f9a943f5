from collections.abc import Callable

import pytest

from polysched.errors import ScheduleError
from polysched.ir.core.tree import Loop, path
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import assert_agrees, spread
from tests.support.showing import before_and_after

SIZES = (0, 1, 4, 7)


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(kernels.grid()).reorder("j", "i")
    check_golden("schedule/reorder.txt", before_and_after(schedule))


def test_parametric() -> None:
    schedule = Schedule(kernels.matmul()).reorder("l", "update.i", "update.j")
    assert_agrees(schedule, *spread("m", "n", "k", values=SIZES))


@pytest.mark.parametrize("length", [1, 3, 8])
def test_rectangular(length: int) -> None:
    assert_agrees(Schedule(kernels.transpose(length, 5)).reorder("j", "i"))


def test_triangular() -> None:
    schedule = Schedule(kernels.grid(triangular=True)).reorder("j", "i")
    assert_agrees(schedule, *spread("n", values=SIZES))


def test_triangular_reduction() -> None:
    schedule = Schedule(kernels.matmul(triangular=True)).reorder("l", "update.j", "update.i")
    assert_agrees(schedule, *spread("m", "n", values=SIZES))


def test_loops_not_named_stay() -> None:
    schedule = Schedule(kernels.matmul()).reorder("l", "update.i")
    assert [loop.name for loop in _nest(schedule)] == ["l", "j", "i"]
    assert_agrees(schedule, *spread("m", "n", "k", values=SIZES))


def _nest(schedule: Schedule) -> list[Loop]:
    return list(path(schedule.program.tree, "update"))


def test_one_loop_changes_nothing() -> None:
    schedule = Schedule(kernels.grid())
    assert schedule.reorder("i").program is schedule.program


def test_loop_named_twice() -> None:
    with pytest.raises(ScheduleError, match="reorder names loop 'i' twice"):
        Schedule(kernels.grid()).reorder("i", "i")


def test_not_perfectly_nested() -> None:
    with pytest.raises(
        ScheduleError, match="'j' is not alone below 'i'.*distribute that loop first"
    ):
        Schedule(kernels.triangular_solve()).reorder("j", "i")


def test_loops_of_two_nests() -> None:
    with pytest.raises(ScheduleError, match="not perfectly nested"):
        Schedule(kernels.chain()).reorder("P.i", "C.j")
