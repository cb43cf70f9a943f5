"""Plans of one statement: where the vectors of a row begin."""

from dataclasses import replace

import pytest

from polysched.autoscheduler.driver import optimize_schedule
from polysched.frontends.scop import parse_c
from polysched.legality.check import check
from polysched.machine.presets import PRESETS
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees

STENCIL = """
void stencil(int n, double A[restrict n][n], double B[restrict n][n])
{
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            B[i][j] = A[i-1][j] + A[i+1][j] + A[i][j-1] + A[i][j+1];
}
"""


@pytest.mark.parametrize(("aligned", "shifted"), [(8, False), (10_000, True)])
def test_vectors_of_long_rows_begin_where_the_rows_do(aligned: int, shifted: bool) -> None:
    """Their stores go to one cache line each if rows are whole vectors."""
    machine = PRESETS["sapphirerapids"]
    machine = replace(machine, costs=replace(machine.costs, aligned_vectors=aligned))
    schedule = optimize_schedule(Schedule(parse_c(STENCIL).kernel), machine).schedule
    moved = [step.loop for step in schedule.steps if isinstance(step, Shift)]
    assert any(loop.endswith("j") for loop in moved) == shifted
    assert check(schedule).is_legal
    assert_agrees(schedule, {"n": 2}, {"n": 19})
