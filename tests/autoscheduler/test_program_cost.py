"""Costs of statements beside each other: shared loops, shared data, overlapping chains."""

from __future__ import annotations

from polysched.autoscheduler.program_cost import program_costs, shared_facts
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


HANDED_ON = """
void handed_on(int n, const float x[restrict n][16], float y[restrict n][16])
{
    for (int r = 0; r < n; r++) {
        float a[16];
        for (int j = 0; j < 16; j++) a[j] = x[r][j] + 1.0f;
        for (int k = 0; k < 16; k++) y[r][k] = 2.0f * a[k];
    }
}
"""


def test_a_vector_waits_for_the_stores_of_its_parts() -> None:
    """Stores that are still in flight are forwarded to loads of their own bytes only."""
    schedule = Schedule(parse_c(HANDED_ON).kernel).vectorize("k", 16)
    machine, sizes = PRESETS["skylake-avx512"], {"n": 1000}
    cycles = {}
    for lanes in (4, 16):
        program = schedule.vectorize("j", lanes).program
        read = shared_facts(program, "y", sizes).accesses[1]
        assert read.joins_stores == (lanes == 4)
        cycles[lanes] = program_costs(program, ("y",), machine, sizes)["y"].cycles
    assert cycles[4] > cycles[16] + 1000
