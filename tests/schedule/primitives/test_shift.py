from collections.abc import Callable

import pytest

from polysched.errors import ScheduleError
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import assert_agrees, spread
from tests.support.showing import before_and_after

SIZES = (0, 1, 4, 7)


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    fused = Schedule(kernels.chain()).fuse("P.i", "C.i")
    check_golden("schedule/shift.txt", before_and_after(fused.shift("i", 1, statement="C")))


@pytest.mark.parametrize("amount", [1, 3, -2, 0])
def test_parametric(amount: int) -> None:
    schedule = Schedule(kernels.scale()).shift("i", amount)
    assert_agrees(schedule, *spread("n", values=SIZES))
    assert_agrees(schedule.vectorize("i", 4), *spread("n", values=SIZES))


@pytest.mark.parametrize("length", [1, 3, 8])
def test_rectangular(length: int) -> None:
    fused = Schedule(kernels.chain(length, 5)).fuse("P.i", "C.i").fuse("P.j", "C.j")
    assert_agrees(fused.shift("j", 2, "C"))
    assert_agrees(fused.shift("i", 1, "C").shift("j", -2, "C"))


def test_triangular() -> None:
    fused = Schedule(kernels.chain(triangular=True)).fuse("P.i", "C.i").fuse("P.j", "C.j")
    assert_agrees(fused.shift("j", 2, "C"), *spread("n", values=SIZES))


def test_makes_the_fusion_of_stencils_legal() -> None:
    schedule = Schedule(kernels.jacobi()).shift("back.i", 1).fuse("there.i", "back.i")
    assert_agrees(schedule, *spread("t", "n", values=(1, 2, 5, 8)))


def test_statement_elsewhere() -> None:
    with pytest.raises(ScheduleError, match="statement 'C' is not below loop 'P.i'"):
        Schedule(kernels.chain()).shift("P.i", 1, statement="C")


def test_amount_that_is_not_sensible() -> None:
    with pytest.raises(ScheduleError, match="the amount of shift.* expected at most 2..40"):
        Schedule(kernels.scale()).shift("i", 2**41)
