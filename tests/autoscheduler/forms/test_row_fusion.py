"""Row fusion: nests that stream the same rows take turns by blocks."""

from __future__ import annotations

import pytest

from polysched.autoscheduler.cost.program import program_costs
from polysched.autoscheduler.facts.sizes import model_sizes
from polysched.autoscheduler.forms.row_fusion import row_fused
from polysched.frontends.scop import parse_c
from polysched.ir.core.tree import Sequence
from polysched.legality.check import check
from polysched.machine.presets import PRESETS
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees

MACHINE = PRESETS["skylake-avx512"]
ROWS_AND_COLUMNS = """
void both(int n, const double A[n][n], const double x[n], double t[restrict n],
          double y[restrict n])
{
    for (int i = 0; i < n; i++) t[i] = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) t[i] += A[i][j] * x[j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) y[i] += A[j][i] * t[j];
}
"""
SHIFTED = """
void shifted(int n, const double A[n][n], double B[restrict n][n], double C[restrict n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) B[i][j] = 2 * A[i][j];
    for (int i = 0; i < n - 1; i++)
        for (int j = 0; j < n; j++) C[i][j] = B[i + 1][j] - A[i][j];
}
"""
WHOLE_SUM_FIRST = """
void whole(int n, const double A[n][n], double s[restrict n], double B[restrict n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) s[j] += A[i][j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) B[i][j] = A[i][j] - s[j];
}
"""
PRODUCT = """
void product(int n, const double A[n][n], const double B[n][n], double C[restrict n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) C[i][j] = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++) C[i][j] += A[i][k] * B[k][j];
}
"""


def _start(text: str) -> Schedule:
    return Schedule(parse_c(text).kernel)


@pytest.mark.parametrize("text", [ROWS_AND_COLUMNS, SHIFTED], ids=["transposed", "shifted"])
def test_nests_take_turns(text: str) -> None:
    start = _start(text)
    sizes = model_sizes(start.kernel, None)
    ((fused, decision),) = row_fused(start, MACHINE, sizes)
    assert check(fused).is_legal
    assert "blocks of 8 rows" in decision.reason
    assert not isinstance(fused.program.tree, Sequence), "all nests are in one loop"
    assert_agrees(fused, {"n": 1}, {"n": 19})


def test_the_later_nest_is_predicted_to_find_the_rows_in_a_cache() -> None:
    start = _start(ROWS_AND_COLUMNS)
    sizes = model_sizes(start.kernel, None)
    ((fused, _),) = row_fused(start, MACHINE, sizes)
    before, after = (
        program_costs(one.program, ("t_2", "y"), MACHINE, sizes) for one in (start, fused)
    )
    assert after["t_2"].memory == pytest.approx(before["t_2"].memory, rel=0.2)
    assert after["y"].memory < before["y"].memory / 2


@pytest.mark.parametrize(
    "text", [WHOLE_SUM_FIRST, PRODUCT], ids=["needs the whole sum", "computes more than it loads"]
)
def test_other_nests_stay_apart(text: str) -> None:
    start = _start(text)
    assert list(row_fused(start, MACHINE, model_sizes(start.kernel, None))) == []


def test_arrays_within_the_cache_are_no_reason() -> None:
    start = _start(ROWS_AND_COLUMNS)
    assert list(row_fused(start, MACHINE, model_sizes(start.kernel, {"n": 100}))) == []
