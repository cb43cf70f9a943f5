"""The times of statements as inequalities."""

import pytest

from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import executed
from polysched.loops.scan.inequalities import AffineExpr
from polysched.loops.scan.time_sets import NotScannedError, TimeSet, time_sets
from polysched.schedule.schedule import Schedule
from tests.support import kernels


def times(schedule: Schedule) -> dict[str, TimeSet]:
    return time_sets(schedule.program, executed(schedule.program.tree))


def test_a_split_loop() -> None:
    (found,) = times(Schedule(kernels.scale(10)).split("i", 4)).values()
    assert found.system.box == {0: (0, 2), 1: (0, 3)}
    assert found.system.inequalities == (AffineExpr(((0, -4), (1, -1)), 9),)
    assert found.instance == (AffineExpr(((0, 4), (1, 1)), 0),)


def test_an_even_split_needs_the_box_alone() -> None:
    (found,) = times(Schedule(kernels.scale(12)).split("i", 4)).values()
    assert found.system.inequalities == ()


def test_even_parts() -> None:
    (found,) = times(Schedule(kernels.scale(10)).divide("i", 4)).values()
    assert found.system.box == {0: (0, 3), 1: (0, 9)}
    assert found.instance == (AffineExpr(((1, 1),), 0),)


@pytest.mark.parametrize("kernel", [kernels.scale(), kernels.stepped(20)], ids=["size", "stride"])
def test_parameters_and_strides_are_left_to_isl(kernel: Kernel) -> None:
    with pytest.raises(NotScannedError, match="kernel 'scale'|statement 'S'"):
        times(Schedule(kernel))


def test_a_stride_of_a_loop_that_has_one_value() -> None:
    schedule = Schedule(kernels.grid(3, 6)).split("j", 3)
    assert times(schedule.skew("ji", "jo", 3))


def test_a_statement_that_never_runs_has_no_times() -> None:
    assert times(Schedule(kernels.scale(0))) == {}
