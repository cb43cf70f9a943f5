"""Chains of dependent operations: sums that overlap, and updates under masks."""

from __future__ import annotations

from dataclasses import replace

from polysched.autoscheduler.cost.program import program_costs
from polysched.autoscheduler.cost.statement import core_cost
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.statement import LoopFacts, StatementFacts
from polysched.autoscheduler.recipes.plan import Plan
from polysched.frontends.scop import parse_c
from polysched.machine.presets import PRESETS
from polysched.schedule.schedule import Schedule

MACHINE = PRESETS["skylake-avx512"]
ROW_SUMS = """
void rows(int n, int m, const float A[n][m], float s[restrict n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) s[i] += A[i][j];
}
"""
SUBSTITUTION = """
void solve(int n, const double L[n][n], const double b[n], double x[restrict n])
{{
    for (int i = 0; i < n; i++) {{
        double s = b[i];
        for (int k = 0; k < i; k++) s -= L[i][{term}] * x[{term}];
        x[i] = s / L[i][i];
    }}
}}
"""
TILE = """
void tile(int n, int m, const float x[restrict n + 2][m + 2], float y[restrict n][m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            for (int s = 0; s < 3; s++) y[i][j] += x[i][j + s];
}
"""


def facts_of(source: str, statement: str, sizes: dict[str, int]) -> StatementFacts:
    return statement_facts(Schedule(parse_c(source).kernel).program, statement, sizes)


def cycles_per_term(n: int, m: int) -> float:
    facts = facts_of(ROW_SUMS, "s", {"n": n, "m": m})
    return core_cost(facts, MACHINE).cycles / (n * m)


def test_short_sums_of_neighboring_rows_overlap() -> None:
    assert cycles_per_term(1000, 50) < 0.7 * cycles_per_term(1000, 4000)
    assert cycles_per_term(1, 50) > cycles_per_term(1000, 50), "there is no next row"


def test_sums_overlap_only_if_they_read_the_newest_element_last() -> None:
    def cycles(term: str) -> float:
        program = Schedule(parse_c(SUBSTITUTION.format(term=term)).kernel).program
        return program_costs(program, ("s_2",), MACHINE, {"n": 100})["s_2"].cycles

    assert cycles("k") < 0.8 * cycles("i - 1 - k")


def test_copies_that_update_one_vector_under_a_mask_wait_for_each_other() -> None:
    def cycles(m: int) -> float:
        plan = Plan(("s", "i", "j"), "j", 16, jammed=(("s", 3),))
        plan = replace(plan, order=("j", "s", "i"))
        return core_cost(plan.facts(facts_of(TILE, "y", {"n": 50, "m": m})), MACHINE).cycles

    assert cycles(54) > 2 * cycles(64), "the last vector of 54 columns has a mask"


def test_tiles_at_the_end_of_a_loop_run_slower() -> None:
    def share(trip: float, factor: int, *, is_constant: bool = False) -> float:
        return LoopFacts("i", trip, is_constant=is_constant).partial_share(factor)

    assert share(64.0, 16) == 0.0
    assert share(54.0, 64) == 1.0
    assert 0.1 < share(54.0, 48) < 0.12
    assert share(54.0, 64, is_constant=True) == 0.0, "no condition is left in the code"
    facts = facts_of(TILE, "y", {"n": 50, "m": 54})
    constant = replace(facts, loops=tuple(replace(one, is_constant=True) for one in facts.loops))
    plan = Plan(("i", "s", "j"), "j", 16, vectors=4)
    at_run_time, known = (core_cost(plan.facts(one), MACHINE).cycles for one in (facts, constant))
    assert at_run_time > known


def test_updates_of_an_integer_in_a_register_take_one_cycle_each() -> None:
    loop = "for (int i = 0; i < n; i++) s[0] += x[i];"
    text = f"void total(int n, const {{0}} x[n], {{0}} s[1]) {{{{ {loop} }}}}"
    integers, floats = (
        core_cost(facts_of(text.format(kind), "s", {"n": 10_000}), MACHINE).cycles
        for kind in ("int", "float")
    )
    assert integers < 0.5 * floats


RECURRENCE = """
void sweep(int n, int m, double u[restrict n][m])
{
    for (int i = 1; i < n; i++)
        for (int j = 1; j < m - 1; j++) u[i][j] = 0.3 * (u[i - 1][j] + u[i][j - 1] + u[i][j + 1]);
}
"""


def test_short_rows_of_a_recurrence_overlap() -> None:
    def cycles(n: int, m: int, source: str = RECURRENCE) -> float:
        return core_cost(facts_of(source, "u", {"n": n, "m": m}), MACHINE).cycles / (n * (m - 2))

    assert cycles(1001, 14) < 0.7 * cycles(1001, 4002)
    assert cycles(2, 14) > cycles(1001, 14), "there is no next row"
    far = RECURRENCE.replace("u[i - 1][j]", "u[i - 1][m - 1]")
    assert cycles(1001, 14) < 0.7 * cycles(1001, 14, far), "a row waits for the end of the last"


def test_copies_that_never_run_all_at_once_run_slower() -> None:
    rows = Schedule(parse_c(RECURRENCE).kernel).skew("u.j", by="u.i", factor=2).shift("u.i", -1)
    jammed = rows.split("u.i", 8, ("io", "ii")).reorder("u.j", "u.ii").unroll("u.ii")

    def partial(m: int) -> float:
        return statement_facts(jammed.program, "u", {"n": 1001, "m": m}).loop("ii").partial

    assert partial(8) == 1.0
    assert partial(4000) < 0.1
