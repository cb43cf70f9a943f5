"""Sums whose lanes are parts: how the parts are added."""

from __future__ import annotations

import pytest

from polysched.autoscheduler.facts.sizes import model_sizes
from polysched.autoscheduler.forms.candidate import Proposal, Situation
from polysched.autoscheduler.forms.nests import outer_nests
from polysched.autoscheduler.recipes.partial_sums import FOLDED_LANES, partial_sums
from polysched.frontends.scop import parse_c
from polysched.legality.check import check
from polysched.machine.presets import PRESETS
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees

DOT = """
void f(int n, const float a[restrict n], const float b[restrict n], float s[restrict 1])
{
    for (int i = 0; i < n; i++)
        s[0] += a[i] * b[i];
}
"""
TRIANGLE = """
void f(int n, const float a[restrict n][n], float s[restrict n])
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            s[i] += a[i][j];
}
"""


ROW_PRODUCTS = """
void f(int n, int m, const float a[n][m], const float b[n][m], float s[restrict n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            s[i] += a[i][j] * b[i][j];
}
"""


def proposals(text: str, machine: str, **given: int) -> tuple[Schedule, list[Proposal]]:
    schedule = Schedule(parse_c(text).with_fast_math().kernel)
    (nest,) = outer_nests(schedule.program.tree)
    sizes = model_sizes(schedule.kernel, given)
    return schedule, list(partial_sums(Situation(schedule, nest, PRESETS[machine], sizes)))


def widths(proposal: Proposal) -> list[int | None]:
    return [step.lanes for step in proposal.steps if isinstance(step, Vectorize)]


@pytest.mark.parametrize("machine", ["haswell-avx2", "znver4"])
def test_vectors_of_parts_are_folded_to_a_few_lanes(machine: str) -> None:
    schedule, found = proposals(DOT, machine)
    assert found
    for proposal in found:
        assert widths(proposal)[-1] == FOLDED_LANES
        changed = schedule
        for step in proposal.steps:
            changed = changed.then(step)
        assert check(changed).is_legal
        assert_agrees(changed, {"n": 1}, {"n": 3}, {"n": 150}, {"n": 517}, machine=machine)


def test_sums_that_start_at_the_diagonal_are_folded_once() -> None:
    _, found = proposals(TRIANGLE, "znver4")
    assert found
    assert all(FOLDED_LANES not in widths(proposal) for proposal in found)


PAIRS = """
void f(int n, const float a[restrict n][2], float s[restrict 1])
{
    for (int i = 0; i < n; i++)
        s[0] += a[i][0] * a[i][1];
}
"""


def test_sums_of_pairs_have_parts() -> None:
    assert proposals(PAIRS, "znver4")[1]


@pytest.mark.parametrize(("rows", "is_far"), [(8, False), (1000, True)])
def test_rows_behind_the_second_cache_are_also_added_one_at_a_time(rows: int, is_far: bool) -> None:
    _, found = proposals(ROW_PRODUCTS, "znver4", n=rows, m=256)
    assert "sums at a time" in found[0].reason
    assert any("sums at a time" not in one.reason for one in found) == is_far
