"""Time tiles: legal, right at sizes that do not fit the tiles, and only where sweeps repeat."""

from __future__ import annotations

import pytest

from polysched.autoscheduler.driver import optimize_schedule
from polysched.autoscheduler.facts.sizes import model_sizes
from polysched.autoscheduler.forms.time_tiles import time_tiled
from polysched.frontends.scop import parse_c
from polysched.legality.check import check
from polysched.machine.presets import PRESETS
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.primitives.tile import Tile
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees

JACOBI = """
void jacobi(int T, int n, double A[restrict n][n], double B[restrict n][n])
{
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                B[i][j] = A[i-1][j] + A[i+1][j] + A[i][j-1] + A[i][j+1];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[i][j] = B[i-1][j] + B[i+1][j] + B[i][j-1] + B[i][j+1];
    }
}
"""
LINE = """
void line(int T, int n, double A[restrict n], double B[restrict n])
{
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < n - 1; i++) B[i] = A[i-1] + A[i+1];
        for (int i = 1; i < n - 1; i++) A[i] = B[i];
    }
}
"""
BOUNDARY = """
void boundary(int T, int n, double e[restrict n][n], double h[restrict n][n],
              const double f[restrict T])
{
#pragma polysched assume n >= 2
    for (int t = 0; t < T; t++) {
        for (int j = 0; j < n; j++) e[0][j] = f[t];
        for (int i = 1; i < n; i++)
            for (int j = 0; j < n; j++) e[i][j] = e[i][j] - h[i][j] + h[i-1][j];
        for (int i = 0; i < n - 1; i++)
            for (int j = 0; j < n - 1; j++) h[i][j] = h[i][j] - e[i+1][j] + e[i][j];
    }
}
"""


def tiled(text: str) -> list[Schedule]:
    schedule = Schedule(parse_c(text).kernel)
    sizes = model_sizes(schedule.kernel, None)
    return [one for one, _ in time_tiled(schedule, PRESETS["skylake-avx512"], sizes)]


@pytest.mark.parametrize("text", [JACOBI, LINE, BOUNDARY], ids=["jacobi", "line", "boundary"])
def test_tiles_are_legal_and_compute_the_same(text: str) -> None:
    schedules = tiled(text)
    assert schedules
    for schedule in schedules:
        assert any(isinstance(step, Tile) for step in schedule.steps)
        assert check(schedule).is_legal
        assert_agrees(schedule, {"T": 1, "n": 2}, {"T": 9, "n": 13})


def test_a_sum_is_no_time_loop() -> None:
    text = """
    void product(int n, double C[restrict n][n], const double A[restrict n][n])
    {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                for (int k = 0; k < n; k++) C[i][j] += A[i][k];
    }
    """
    assert tiled(text) == []


def test_a_statement_beside_the_sweeps_keeps_them_as_they_are() -> None:
    text = LINE.replace("for (int i = 1; i < n - 1; i++) A[i] = B[i];", "A[0] = B[n / 2];")
    assert tiled(text) == []


def test_vectors_of_all_sweeps_of_a_line_begin_at_the_same_elements() -> None:
    (schedule,) = tiled(LINE)
    lanes = 8
    assert [step.amount for step in schedule.steps if isinstance(step, Shift)] == [lanes]
    assert [step.factor for step in schedule.steps if isinstance(step, Skew)] == [2 * lanes]


def test_lines_are_tiled_although_the_assumed_ones_fit_a_cache() -> None:
    found = optimize_schedule(Schedule(parse_c(LINE).kernel), PRESETS["skylake-avx512"])
    assert any(isinstance(step, Tile) for step in found.schedule.steps)
