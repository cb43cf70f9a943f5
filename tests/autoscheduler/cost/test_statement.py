"""Predicted cycles of statements."""

from __future__ import annotations

import pytest

from polysched.autoscheduler.cost.statement import (
    core_cost,
    overlapped,
    statement_cost,
    with_traffic,
)
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.frontends.scop import parse_c
from polysched.machine.presets import PRESETS
from polysched.schedule.schedule import Schedule

POINTS = """
void points(int n, const float T[restrict {terms}], const float p[restrict {terms}][n],
            float q[restrict {shape}])
{{
    for (int v = 0; v < n; v++)
        for (int j = 0; j < {terms}; j++) q{place} += T[j] * p[j][v];
}}
"""


def cycles(terms: int, shape: str, place: str) -> float:
    schedule = Schedule(parse_c(POINTS.format(terms=terms, shape=shape, place=place)).kernel)
    facts = statement_facts(schedule.vectorize("v", 16).unroll("j").program, "q", {"n": 1000})
    return statement_cost(facts, PRESETS["skylake-avx512"]).cycles


def test_updates_of_lanes_that_lie_apart_pass_through_memory() -> None:
    # Measured on Zen 4: 16 points side by side, all 16 updates of four by four written out, took 18
    # times as long as lanes along the result, because each update loaded what the last one stored.
    apart = [cycles(terms, "n][4", "[v][0]") for terms in (2, 8)]
    together = [cycles(terms, "n", "[v]") for terms in (2, 8)]
    assert apart[1] - apart[0] > 3 * (together[1] - together[0])


STRIDED = """
void strided(int n, float x[restrict n])
{{
    for (int i = {start}; i < n; i += {step}) x[i] = 1.0f;
}}
"""
NESTED = """
void nested(int n, int m, float x[restrict n][m])
{{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < {columns}; j++) x[i][j] = 1.0f;
}}
"""
TRIANGLE = """
void triangle(int n, int m, const float a[restrict n][m], float x[restrict n][m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) x[i][j] = a[i][j];
}
"""


def cost_of(text: str, sizes: dict[str, int]) -> float:
    facts = statement_facts(Schedule(parse_c(text).kernel).program, "x", sizes)
    return core_cost(facts, PRESETS["skylake-avx512"]).cycles


def test_a_loop_with_a_step_runs_fewer_iterations() -> None:
    each = cost_of(STRIDED.format(start=0, step=1), {"n": 8000})
    fourth = cost_of(STRIDED.format(start=0, step=4), {"n": 8000})
    assert 3.5 < each / fourth < 4.5


def test_always_as_few_iterations_are_entered_for_little() -> None:
    sizes = {"n": 1000, "m": 1000}
    short, long = (cost_of(NESTED.format(columns=n), sizes) for n in (4, 400))
    assert short / 4 < 2 * long / 400


def test_in_a_triangle_some_vectors_have_masks() -> None:
    schedule = Schedule(parse_c(TRIANGLE).kernel).vectorize("j", 16)
    shares = []
    for n in (64, 640):
        facts = statement_facts(schedule.program, "x", {"n": n, "m": n})
        shares.append(facts.masked_share(facts.loops[-1]))
    assert 0 < shares[1] < shares[0] < 1


def test_tiles_are_transposed_only_if_the_schedule_says_so() -> None:
    text = """
void turn(int n, const float a[restrict n][8], float x[restrict 8][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 8; j++) x[j][i] = a[i][j];
}
"""
    tiles = Schedule(parse_c(text).kernel).vectorize("i", 16).unroll("j")
    gathered, transposed = (
        core_cost(
            statement_facts(schedule.program, "x", {"n": 1000}), PRESETS["skylake-avx512"]
        ).cycles
        for schedule in (tiles, tiles.transpose("iv", across="j"))
    )
    assert transposed < 0.7 * gathered


def test_a_first_row_pays_for_nothing_inside() -> None:
    text = """
void paths(int n, int m, float x[restrict n][m])
{
    for (int i = 0; i < n; i++)
        for (int j = 1; j < m; j++)
            if (i == 0) x[i][j] = x[i][j - 1] + 1.0f;
            else x[i][j] = x[i][j - 1] + x[i - 1][j];
}
"""
    program = Schedule(parse_c(text).kernel).program
    first, rest = (statement_facts(program, name, {"n": 99, "m": 99}) for name in ("x", "x_2"))
    machine = PRESETS["znver4"]
    assert core_cost(rest, machine, [first]).cycles == core_cost(rest, machine).cycles


SUMS = """
void sums(int n, int m, const double a[restrict n][m], double s[restrict m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) s[j] += a[i][j];
}
"""


@pytest.mark.parametrize(("sizes", "waits"), [((16, 64), True), ((1000, 900), False)])
def test_loads_do_not_wait_for_the_port_of_stores_while_lines_arrive(
    sizes: tuple[int, int], waits: bool
) -> None:
    # Sums of 1000 rows from the third-level cache take some 361,000 cycles on Zen 4; the port
    # alone would take 365,000 if all loads waited for it.
    schedule = Schedule(parse_c(SUMS).kernel).split("i", 2, into=("io", "ii"))
    schedule = schedule.reorder("io", "j", "ii").vectorize("j", 8).unroll("ii")
    facts = statement_facts(schedule.program, "s", dict(zip("nm", sizes, strict=True)))
    core = core_cost(facts, PRESETS["znver4"])
    cost = with_traffic(core, facts, PRESETS["znver4"])
    assert core.port_waits > 0
    assert (cost.cycles > overlapped(core.compute, cost.memory)) is waits
