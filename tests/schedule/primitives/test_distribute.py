from collections.abc import Callable

import pytest

from polysched.errors import ScheduleError
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import assert_agrees, spread
from tests.support.showing import before_and_after

SIZES = (0, 1, 4, 7)


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(kernels.reductions()).distribute("i", after="zero")
    check_golden("schedule/distribute.txt", before_and_after(schedule))


def test_parametric() -> None:
    schedule = Schedule(kernels.reductions()).distribute("i").distribute("j")
    assert_agrees(schedule, *spread("n", "m", values=SIZES))


def test_all_the_way() -> None:
    schedule = Schedule(kernels.conditions()).distribute("j").distribute("i")
    assert_agrees(schedule, *spread("n", values=SIZES))


@pytest.mark.parametrize("after", ["band", "off"])
def test_after_one_statement(after: str) -> None:
    schedule = Schedule(kernels.conditions()).distribute("j", after=after)
    assert_agrees(schedule, *spread("n", values=SIZES))


@pytest.mark.parametrize("length", [1, 3, 8])
def test_rectangular(length: int) -> None:
    schedule = Schedule(kernels.chain(length, 3)).fuse("P.i", "C.i").distribute("i")
    assert_agrees(schedule)


def test_triangular() -> None:
    fused = Schedule(kernels.chain(triangular=True)).fuse("P.i", "C.i").fuse("P.j", "C.j")
    assert_agrees(fused.distribute("j").distribute("i"), *spread("n", values=SIZES))


def test_one_thing_only() -> None:
    with pytest.raises(ScheduleError, match=r"body of loop 'i' is not a sequence \(S\)"):
        Schedule(kernels.grid()).distribute("i")


def test_statement_elsewhere() -> None:
    with pytest.raises(ScheduleError, match="statement 'nothing' is not in the body of loop 'i'"):
        Schedule(kernels.reductions()).distribute("i", after="nothing")
