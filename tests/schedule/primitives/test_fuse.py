from collections.abc import Callable

import pytest

from polysched.errors import ScheduleError
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import assert_agrees, spread
from tests.support.showing import before_and_after

SIZES = (0, 1, 4, 7)


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(kernels.chain()).fuse("P.i", "C.i", into="k")
    check_golden("schedule/fuse.txt", before_and_after(schedule))


def test_parametric() -> None:
    schedule = Schedule(kernels.chain()).fuse("P.i", "C.i").fuse("P.j", "C.j")
    assert_agrees(schedule, *spread("n", "m", values=SIZES))


@pytest.mark.parametrize("length", [1, 3, 8])
def test_rectangular(length: int) -> None:
    schedule = Schedule(kernels.chain(length, 3)).fuse("P.i", "C.i").fuse("P.j", "C.j")
    assert_agrees(schedule)


def test_triangular() -> None:
    schedule = Schedule(kernels.chain(triangular=True)).fuse("P.i", "C.i").fuse("P.j", "C.j")
    assert_agrees(schedule, *spread("n", values=SIZES))


def test_loops_of_different_extent() -> None:
    schedule = Schedule(kernels.blur()).shift("C.i", 2).fuse("P.i", "C.i")
    assert_agrees(schedule, *spread("n", "m", values=(1, 4, 7)))


def test_initialisation_into_the_update() -> None:
    schedule = Schedule(kernels.matmul()).fuse("init.i", "update.i").fuse("init.j", "update.j")
    assert_agrees(schedule, *spread("m", "n", "k", values=SIZES))


def test_not_neighbors() -> None:
    with pytest.raises(ScheduleError, match="'C.j' does not stand directly after loop 'P.j'"):
        Schedule(kernels.chain()).fuse("P.j", "C.j")


def test_wrong_way_round() -> None:
    with pytest.raises(ScheduleError, match="'P.i' does not stand directly after loop 'C.i'"):
        Schedule(kernels.chain()).fuse("C.i", "P.i")


def test_name_taken() -> None:
    with pytest.raises(ScheduleError, match="loop name 'j' is taken around statement 'P'"):
        Schedule(kernels.chain()).fuse("P.i", "C.i", into="j")
