"""Chains through several statements, from one iteration to the next."""

from __future__ import annotations

from polysched.autoscheduler.cost.program import program_costs, shared_facts
from polysched.autoscheduler.facts.statement import CarriedChain
from polysched.frontends.scop import parse_c
from polysched.machine.presets import PRESETS
from polysched.schedule.schedule import Schedule

MACHINE = PRESETS["skylake-avx512"]
SOURCE = """
void filter(int n, const float *restrict x, float *restrict y)
{{
    float last = 0, now = 0;
    for (int i = {first}; i < n; i++) {{
        {body}
    }}
}}
"""
SIZES = {"n": 1000}


def carried(body: str, statement: str, first: int = 0) -> CarriedChain | None:
    source = SOURCE.format(body=body, first=first)
    return shared_facts(Schedule(parse_c(source).kernel).program, statement, SIZES).carried


def test_a_state_in_a_scalar_is_a_chain() -> None:
    chain = carried("now = x[i] + 0.5f * last; last = now; y[i] = now;", "last_2")
    assert chain == CarriedChain(operations=2, stores=0, distance=1, loop="i")


def test_a_value_of_the_same_iteration_is_no_chain() -> None:
    body = "last = 0.5f * x[i]; now = x[i] + last; y[i] = now;"
    assert carried(body, "last_2") is None
    assert carried(body, "now_2") is None


def test_elements_of_an_earlier_iteration_pass_through_memory() -> None:
    chain = carried("now = x[i] + 0.5f * y[i - 2]; y[i] = now;", "y", first=2)
    assert chain == CarriedChain(operations=2, stores=1, distance=2, loop="i")


def test_a_chain_through_copies_is_as_long_as_through_iterations() -> None:
    body = "now = x[i] + 0.5f * (y[i - 1] + last); y[i] = now; last = y[i] - y[i - 1];"
    schedule = Schedule(parse_c(SOURCE.format(body=body, first=1)).kernel)
    copied = schedule.shift("now_2.i", -1).split("now_2.i", 8).unroll("now_2.ii")

    def cycles(one: Schedule) -> float:
        names = tuple(one.program.statements)
        costs = program_costs(one.program, names, MACHINE, {"n": 8001})
        return sum(cost.cycles for cost in costs.values())

    assert cycles(copied) > 0.6 * cycles(schedule)


def test_statements_in_different_loops_are_no_chain() -> None:
    source = """
    void rows(int n, const float A[n][n], const float *restrict x, float *restrict y)
    {
        for (int i = 0; i < n; i++) {
            float s = 0;
            for (int j = 0; j < i; j++) s -= A[i][j] * x[j];
            for (int j = i + 1; j < n; j++) s -= A[i][j] * x[j];
            y[i] = s;
        }
    }
    """
    assert shared_facts(Schedule(parse_c(source).kernel).program, "s_3", SIZES).carried is None


def test_the_chain_decides_the_cost_of_the_statements() -> None:
    def cycles(body: str) -> float:
        program = Schedule(parse_c(SOURCE.format(body=body, first=0)).kernel).program
        costs = program_costs(program, tuple(program.statements), MACHINE, SIZES)
        return sum(cost.cycles for cost in costs.values())

    waiting = cycles("now = x[i] + 0.5f * last; last = now; y[i] = now;")
    assert waiting >= 1000 * MACHINE.fma_latency
    assert waiting > 1.5 * cycles("last = x[i]; now = x[i] + 0.5f * last; y[i] = now;")
