"""Costs of statements beside each other: shared loops, shared data, overlapping chains."""

from __future__ import annotations

from polysched.autoscheduler.cost.program import program_costs, shared_facts
from polysched.frontends.scop import parse_c
from polysched.machine.presets import PRESETS
from polysched.schedule.schedule import Schedule

MACHINE = PRESETS["skylake-avx512"]
ROW_BY_ROW = """
void rows(int n, const double A[n][n], double s[restrict n], double B[restrict n][n])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) s[i] += A[i][j];
        for (int j = 0; j < n; j++) B[i][j] = A[i][j] * s[i];
    }
}
"""
SUMS = """
void sums(int n, const double x[n], const double y[n], double s[restrict 2])
{
    for (int i = 0; i < n; i++) {
        s[0] += x[i];
        s[1] += y[i];
    }
}
"""


def test_a_later_nest_finds_the_row_in_a_cache() -> None:
    program = Schedule(parse_c(ROW_BY_ROW).kernel).program
    first, later = (shared_facts(program, name, {"n": 1000}) for name in ("s", "B"))
    row = 8 * 1000
    assert [a.left_behind for a in first.accesses if a.array == "A"] == [float("inf")]
    (found,) = [a.left_behind for a in later.accesses if a.array == "A"]
    assert 2 * row <= found < 3 * row, "a row of A and one of B lie in between"


def test_chains_in_the_same_loop_overlap() -> None:
    program = Schedule(parse_c(SUMS).kernel).program
    costs = program_costs(program, ("s", "s_2"), MACHINE, {"n": 1000})
    assert costs["s"].bound == "chain"
    assert costs["s_2"].cycles < costs["s"].cycles / 4


def test_short_computations_run_while_the_next_row_arrives() -> None:
    source = """
    void rows(int n, int m, const double A[n][m], double B[restrict n][m], double y[restrict n])
    {
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < m; j++) B[i][j] = A[i][j];
            y[i] = 1.0 / y[i];
        }
    }
    """
    program = Schedule(parse_c(source).kernel).vectorize("B.j", 8).program

    def cycles(n: int, m: int) -> float:
        costs = program_costs(program, ("B", "y"), MACHINE, {"n": n, "m": m})
        return costs["y"].cycles / n

    assert cycles(8000, 1000) < 0.1 * cycles(100, 8), "short rows are in a cache"
