"""Predicted cycles of statements."""

from __future__ import annotations

from polysched.autoscheduler.cost import statement_cost
from polysched.autoscheduler.facts import statement_facts
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
