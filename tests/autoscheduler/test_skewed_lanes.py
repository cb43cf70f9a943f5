"""Vectors that begin where the iterations that others read are the last lanes."""

from __future__ import annotations

from polysched.autoscheduler.facts.sizes import model_sizes
from polysched.autoscheduler.forms.candidate import Proposal, Situation
from polysched.autoscheduler.forms.legal import applied, keeps_order
from polysched.autoscheduler.forms.nests import outer_nests
from polysched.autoscheduler.recipes.skewed_lanes import skewed_lanes
from polysched.frontends.scop import parse_c
from polysched.legality.check import check
from polysched.machine.presets import PRESETS
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees


def proposals(statement: str) -> tuple[Schedule, list[Proposal]]:
    text = f"""
    void f(int n, int D[restrict n][n])
    {{
        for (int k = 0; k < n; k++)
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++) {statement}
    }}
    """
    schedule = Schedule(parse_c(text).kernel)
    (nest,) = outer_nests(schedule.program.tree)
    sizes = model_sizes(schedule.kernel, None)
    situation = Situation(schedule, nest, PRESETS["skylake-avx512"], sizes)
    return schedule, list(skewed_lanes(situation))


def test_shortest_paths() -> None:
    step = "D[i][j] = D[i][j] < D[i][k] + D[k][j] ? D[i][j] : D[i][k] + D[k][j];"
    schedule, proposed = proposals(step)
    changed = [applied(schedule, proposal.steps) for proposal in proposed]
    legal = [
        one
        for one in changed
        if one is not None and keeps_order(one.program, one.kernel.statements)
    ]
    assert legal
    assert check(legal[0]).is_legal
    assert_agrees(legal[0], {"n": 1}, {"n": 19})


def test_nothing_is_proposed_where_plain_vectors_are_legal() -> None:
    assert proposals("D[i][j] = D[i][j] + k;")[1] == []
