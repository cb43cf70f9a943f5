"""Schedules as values, and that no step makes isl run away."""

import pytest

from polysched.errors import KernelError, ScheduleError
from polysched.schedule import schedule as module
from polysched.schedule.schedule import Schedule
from tests.support import kernels


def test_a_step_leaves_the_schedule_as_it_was() -> None:
    schedule = Schedule(kernels.scale())
    split = schedule.split("i", 4)
    assert (len(schedule.steps), len(split.steps)) == (0, 1)
    assert split.programs[0] is schedule.program


def test_it_shows_its_steps() -> None:
    schedule = Schedule(kernels.scale())
    assert repr(schedule) == "<Schedule of scale: no steps>"
    shown = "<Schedule of scale: split(loop='i', factor=4).unroll(loop='ii')>"
    assert repr(schedule.split("i", 4).unroll("ii")) == shown


def test_a_step_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = Schedule(kernels.matmul()).split("update.l", 4)
    monkeypatch.setattr(module, "STEP_QUOTA", 50)
    expected = r"^pack\(array='a', at='lo'\): isl needs more than the 50 operations"
    with pytest.raises(ScheduleError, match=expected):
        schedule.pack("a", "lo")


def test_dependences_that_take_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kernels.matmul()
    monkeypatch.setattr(module, "DEPENDENCE_QUOTA", 50)
    expected = "kernel 'matmul': its dependences cannot be computed: isl needs more than the 50"
    with pytest.raises(KernelError, match=expected):
        Schedule(kernel)


def test_a_long_schedule_has_a_short_repr() -> None:
    schedule = Schedule(kernels.scale())
    name = "i"
    for _ in range(8):
        schedule = schedule.split(name, 2, (f"{name}_outer_loop", f"{name}n"))
        name = f"{name}n"
    assert repr(schedule.unroll(name)) == "<Schedule of scale: 9 steps (split 8, unroll 1)>"
