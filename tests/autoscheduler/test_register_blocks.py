"""Imperfect nests distributed inside blocks of a few vectors."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polysched.autoscheduler.driver import optimize_schedule
from polysched.autoscheduler.facts.sizes import model_sizes
from polysched.autoscheduler.forms.candidate import Proposal, Situation
from polysched.autoscheduler.forms.nests import outer_nests
from polysched.autoscheduler.recipes.register_blocks import register_blocks
from polysched.frontends.scop import parse_c
from polysched.legality.check import check
from polysched.lower import show
from polysched.machine.presets import PRESETS
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees

FILTER = """
void f(int n, const float x[restrict n + 40], const float h[restrict 40], float y[restrict n])
{
    for (int i = 1; i < n; i++) {
        float sum = 0;
        for (int t = 0; t < 40; t++)
            sum += h[t] * x[i + 39 - t];
        y[i] = sum;
    }
}
"""


def proposals(text: str, machine: str) -> tuple[Schedule, list[Proposal]]:
    schedule = Schedule(parse_c(text).kernel)
    (nest,) = outer_nests(schedule.program.tree)
    sizes = model_sizes(schedule.kernel, None)
    return schedule, list(register_blocks(Situation(schedule, nest, PRESETS[machine], sizes)))


@pytest.mark.parametrize("machine", ["haswell-avx2", "znver4"])
def test_every_proposal_is_legal_and_agrees(machine: str) -> None:
    schedule, found = proposals(FILTER, machine)
    assert [one.reason.split(" of ")[1].split()[0] for one in found] == ["8", "4"]
    for proposal in found:
        changed = schedule
        for step in proposal.steps:
            changed = changed.then(step)
        assert check(changed).is_legal
        assert_agrees(changed, {"n": 1}, {"n": 70}, machine=machine)


@pytest.mark.parametrize("machine", ["haswell-avx2", "znver4"])
def test_a_filter_keeps_its_sums_in_registers(machine: str) -> None:
    # With separate products, arithmetic decides, and two vectors of lanes are as good.
    kernel = replace(parse_c(FILTER).kernel, fp_contract=True)
    found = optimize_schedule(Schedule(kernel), PRESETS[machine])
    assert found.decisions[-1].reason.startswith("blocks of 8 vectors")
    loop = show(found.schedule, "vector", machine=machine).split("for t in")[1].split("contig")
    assert "sum_lanes.r0" in loop[0]
    assert "store" not in loop[0]


def test_few_results_get_no_blocks() -> None:
    assert proposals(FILTER.replace("i < n", "i < 9"), "znver4")[1] == []
