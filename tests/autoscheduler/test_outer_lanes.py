"""Lanes of whole iterations: two vectors if registers suffice, and the values of the program."""

from __future__ import annotations

import pytest

import polysched as ps
from polysched.autoscheduler.facts.sizes import model_sizes
from polysched.autoscheduler.forms.candidate import Proposal, Situation
from polysched.autoscheduler.forms.nests import outer_nests
from polysched.autoscheduler.recipes.outer_lanes import HELD_PART, outer_lanes
from polysched.legality.check import check
from polysched.machine.presets import PRESETS
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees

AVX512 = PRESETS["znver4"]


def iterated(chains: int) -> Schedule:
    """Some values of each point, which depend on one another at each step."""
    build = ps.KernelBuilder("iterated")
    n, steps = build.parameter("n", minimum=1), build.parameter("steps", minimum=1)
    x = build.input("x", ps.i32, (n,))
    y = build.output("y", ps.i32, (n,))
    values = [build.temporary(f"v{number}", ps.i32, ()) for number in range(chains)]
    with build.loops(i=n) as i:
        for value in values:
            value[()] = x[i]
        with build.loops(k=steps):
            for number, value in enumerate(values):
                value[()] = value[()] * 3 + values[number - 1][()]
        y[i] = values[-1][()]
    return Schedule(build.kernel())


def proposals(schedule: Schedule) -> list[Proposal]:
    (nest,) = outer_nests(schedule.program.tree)
    sizes = model_sizes(schedule.kernel, None)
    return list(outer_lanes(Situation(schedule, nest, AVX512, sizes)))


def lanes(proposal: Proposal) -> int | None:
    (vectorize,) = [step for step in proposal.steps if isinstance(step, Vectorize)]
    return vectorize.lanes


def test_two_vectors_are_proposed_before_one() -> None:
    width = AVX512.lanes(32)
    assert [lanes(proposal) for proposal in proposals(iterated(2))] == [2 * width, width]


def test_many_temporaries_leave_registers_for_one_vector() -> None:
    chains = int(HELD_PART * AVX512.vector_registers) // 2
    assert len(proposals(iterated(chains))) == 2
    (only,) = proposals(iterated(chains + 1))
    assert lanes(only) == AVX512.lanes(32)


@pytest.mark.parametrize("position", [0, 1])
def test_the_proposals_are_legal_and_agree(position: int) -> None:
    schedule = iterated(2)
    for step in proposals(schedule)[position].steps:
        schedule = schedule.then(step)
    assert check(schedule).is_legal
    for n in (1, 31, 32, 33, 67):
        assert_agrees(schedule, {"n": n, "steps": 3}, machine="znver4")
