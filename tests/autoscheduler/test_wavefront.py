"""Skewed unroll-and-jam of recurrences."""

from __future__ import annotations

from polysched.autoscheduler.facts.sizes import model_sizes
from polysched.autoscheduler.forms.candidate import Proposal, Situation
from polysched.autoscheduler.forms.nests import outer_nests
from polysched.autoscheduler.recipes.wavefront import wavefront
from polysched.frontends.scop import parse_c
from polysched.legality.check import check
from polysched.machine.presets import PRESETS
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees


def proposals(expression: str) -> tuple[Schedule, list[Proposal]]:
    text = f"""
    void f(int n, double A[restrict n][n])
    {{
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[i][j] = {expression};
    }}
    """
    schedule = Schedule(parse_c(text).kernel)
    (nest,) = outer_nests(schedule.program.tree)
    sizes = model_sizes(schedule.kernel, None)
    situation = Situation(schedule, nest, PRESETS["skylake-avx512"], sizes)
    return schedule, list(wavefront(situation))


def test_each_row_waits_for_an_earlier_iteration_of_the_row_above() -> None:
    schedule, (first, second) = proposals("(A[i][j-1] + A[i-1][j] + A[i-1][j+1]) / 3.0")
    assert [step.factor for step in first.steps if isinstance(step, Skew)] == [2]
    assert [step.factor for step in second.steps if isinstance(step, Skew)] == [1]
    for proposal in (first, second):
        changed = schedule
        for step in proposal.steps:
            changed = changed.then(step)
        assert check(changed).is_legal
        assert_agrees(changed, {"n": 2}, {"n": 13})


def test_nothing_is_proposed_without_a_recurrence() -> None:
    _, none = proposals("A[i][j] * 2.0")
    assert none == []
