"""Loops that start at the same value in every iteration of the loops around them."""

from __future__ import annotations

import pytest

from polysched.autoscheduler.driver import optimize_schedule
from polysched.autoscheduler.recipes.steady_start import steady_start
from polysched.frontends.scop import parse_c
from polysched.machine.presets import PRESETS
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees

SUM = """
void sums(int n, const float A[restrict n][n], float y[restrict n])
{{
    for (int i = 0; i < n; i++)
        for (int j = {start}; j < n; j++) y[i] += A[i][j];
}}
"""


@pytest.mark.parametrize(
    ("start", "factor"),
    [("i + 1", -1), ("i", -1), ("2*i + 3", -2), ("0", None), ("n - i - 1", 1), ("i / 2", None)],
)
def test_the_step_undoes_the_multiple_of_the_outer_loop(start: str, factor: int | None) -> None:
    program = Schedule(parse_c(SUM.format(start=start)).kernel).program
    expected = () if factor is None else (Skew("y.j", "y.i", factor),)
    assert steady_start(program, "y", "j") == expected


def test_rows_of_an_upper_triangle_are_summed_in_vectors_from_their_starts() -> None:
    kernel = parse_c(SUM.format(start="i + 1")).with_fast_math().kernel
    found = optimize_schedule(Schedule(kernel), PRESETS["skylake-avx512"]).schedule
    assert Skew("y.j", "y.i", -1) in found.steps
    assert_agrees(found, {"n": 1}, {"n": 77})
