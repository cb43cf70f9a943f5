"""Owner tiles: factorizations in one nest, tiled by the elements that are written."""

from __future__ import annotations

import pytest

from polysched.autoscheduler.facts.sizes import model_sizes
from polysched.autoscheduler.forms.owner_tiles import owner_tiled
from polysched.frontends.scop import parse_c
from polysched.legality.check import check
from polysched.machine.presets import PRESETS
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees

LU = """
void lu(int n, double A[restrict n][n])
{
    for (int k = 0; k < n; k++) {
        for (int i = k + 1; i < n; i++) A[i][k] = A[i][k] * A[k][k];
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j < n; j++) A[i][j] = A[i][j] - A[i][k] * A[k][j];
    }
}
"""
ROW_ORIENTED = """
void lu(int n, double A[restrict n][n])
{
    for (int i = 1; i < n; i++)
        for (int k = 0; k < i; k++) {
            A[i][k] = A[i][k] * A[k][k];
            for (int j = k + 1; j < n; j++) A[i][j] = A[i][j] - A[i][k] * A[k][j];
        }
}
"""
LEFT_LOOKING = """
void left(int n, double A[restrict n][n])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++) A[i][j] = A[i][j] - A[i][k] * A[j][k];
            A[i][j] = A[i][j] * A[j][j];
        }
        for (int k = 0; k < i; k++) A[i][i] = A[i][i] - A[i][k] * A[i][k];
        A[i][i] = A[i][i] * 0.5;
    }
}
"""

SOLVE = """
void solve(int n, const double L[n][n], double x[restrict n])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) x[i] = x[i] - LOADED * x[j];
        x[i] = x[i] * L[i][i];
    }
}
"""


@pytest.mark.parametrize(
    "text",
    [LU, ROW_ORIENTED, LEFT_LOOKING],
    ids=["right-looking", "row-oriented", "left-looking"],
)
def test_factorizations(text: str) -> None:
    schedule = Schedule(parse_c(text).kernel)
    sizes = model_sizes(schedule.kernel, None)
    ((tiled, decision),) = owner_tiled(schedule, PRESETS["skylake-avx512"], sizes)
    assert check(tiled).is_legal
    assert set(decision.statements) == set(schedule.kernel.statements)
    assert_agrees(tiled, {"n": 1}, {"n": 19})


def test_statements_on_several_arrays_are_left_alone() -> None:
    text = LU.replace("void lu(int n,", "void lu(int n, double B[restrict n][n],")
    schedule = Schedule(
        parse_c(text.replace("A[i][k] = A[i][k] * A[k][k]", "B[i][k] = 1.0")).kernel
    )
    sizes = model_sizes(schedule.kernel, None)
    assert list(owner_tiled(schedule, PRESETS["skylake-avx512"], sizes)) == []


@pytest.mark.parametrize("loaded", ["L[i][j]", "L[j][i]"], ids=["by rows", "by columns"])
def test_triangular_solves(loaded: str) -> None:
    schedule = Schedule(parse_c(SOLVE.replace("LOADED", loaded)).kernel)
    sizes = model_sizes(schedule.kernel, None)
    ((tiled, _),) = owner_tiled(schedule, PRESETS["skylake-avx512"], sizes)
    assert check(tiled).is_legal
    transposed = any(type(step).__name__ == "Transpose" for step in tiled.steps)
    assert transposed == (loaded == "L[i][j]")
    assert_agrees(tiled, {"n": 1}, {"n": 37})


def test_every_nest_is_tiled() -> None:
    both = "x[restrict n], double y[restrict n])"
    two = SOLVE.replace("LOADED", "L[i][j]").replace("x[restrict n])", both)
    second = two[two.index("    for") : two.rindex("}")].replace("x[", "y[")
    schedule = Schedule(parse_c(two[: two.rindex("}")] + second + "}").kernel)
    sizes = model_sizes(schedule.kernel, None)
    ((_, decision),) = owner_tiled(schedule, PRESETS["skylake-avx512"], sizes)
    assert set(decision.statements) == set(schedule.kernel.statements)
