"""Temporaries of a loop: which are privatized, and which are refused without trying the step."""

from __future__ import annotations

import pytest

from polysched.autoscheduler.forms.private_arrays import fresh_array, privatized
from polysched.errors import ScheduleError
from polysched.frontends.scop import parse_c
from polysched.schedule.schedule import Schedule

PROGRAM = """
void filter(int n, double x[restrict n], double y[restrict n])
{
    double own, state, start;
    state = 0.0;
    start = x[0];
    for (int i = 0; i < n; i++) {
        own = x[i] * x[i];
        state = 0.5 * state + own;
        y[i] = state + own * start;
    }
}
"""


def test_only_values_of_one_iteration_are_privatized() -> None:
    schedule = Schedule(parse_c(PROGRAM).kernel)
    loop = schedule.program.tree.children[-1]
    at = f"{loop.statements[0]}.i"
    steps = privatized(schedule, at, set(loop.statements), "lanes")
    assert [(step.array, step.into) for step in steps] == [("own", "own_lanes")]
    for array in ("state", "start"):
        with pytest.raises(ScheduleError, match="share values"):
            schedule.privatize(array, at)


def test_a_new_array_gets_a_free_name() -> None:
    program = Schedule(parse_c(PROGRAM).kernel).program
    assert fresh_array(program, "z") == "z"
    assert fresh_array(program, "x") == "x2"
