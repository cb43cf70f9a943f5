"""Row blocks: imperfect nests are distributed inside blocks of rows."""

from __future__ import annotations

from polysched.autoscheduler.facts.sizes import model_sizes
from polysched.autoscheduler.forms.row_blocks import row_blocked
from polysched.frontends.scop import parse_c
from polysched.legality.check import check
from polysched.machine.presets import PRESETS
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees

MACHINE = PRESETS["skylake-avx512"]
IN_PLACE = """
void in_place(int m, int n, double A[restrict m][n], const double C[n][n])
{
    double s[n];
    for (int i = 1; i < m; i++) {
        for (int k = 0; k < n; k++) s[k] = 0;
        for (int k = 0; k < n; k++)
            for (int r = 0; r < n; r++) s[k] += A[i][r] * C[r][k];
        for (int k = 0; k < n; k++) A[i][k] = s[k];
    }
}
"""
SWEEPS = """
void sweeps(int m, int n, double A[restrict n], double B[restrict n])
{
    for (int t = 0; t < m; t++) {
        for (int i = 1; i < n - 1; i++) B[i] = A[i - 1] + A[i + 1];
        for (int i = 1; i < n - 1; i++) A[i] = B[i - 1] + B[i + 1];
    }
}
"""


def test_the_temporary_holds_a_block_of_rows() -> None:
    schedule = Schedule(parse_c(IN_PLACE).kernel)
    ((blocked, decision),) = row_blocked(schedule, MACHINE, model_sizes(schedule.kernel, None))
    assert check(blocked).is_legal
    assert "blocks of 8 rows" in decision.reason
    assert [str(extent) for extent in blocked.program.arrays["s_private"].stored_shape] != ["n"]
    assert_agrees(blocked, {"m": 1, "n": 3}, {"m": 19, "n": 9})


def test_a_loop_whose_iterations_depend_on_each_other_stays_whole() -> None:
    schedule = Schedule(parse_c(SWEEPS).kernel)
    assert list(row_blocked(schedule, MACHINE, model_sizes(schedule.kernel, None))) == []
