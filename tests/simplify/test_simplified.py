"""Simplified kernels compute the same values, bit for bit, and lose what only passes values on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polysched.autoscheduler.forms.simplification import with_simplification
from polysched.errors import ScheduleError
from polysched.frontends.scop import parse_c
from polysched.fuzz.judge.subject import random_arguments
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.semantics.points import points
from polysched.ir.semantics.reference import run_reference
from polysched.legality.check import check
from polysched.schedule.schedule import Schedule
from tests.simplify.chains import random_chain
from tests.simplify.comparison import same_values
from tests.support.effort import cases


@pytest.mark.parametrize("seed", range(cases(6)))
def test_random_chains(seed: int) -> None:
    same_values(random_chain(seed))


def test_most_chains_change() -> None:
    chains = [random_chain(seed) for seed in range(5)]
    assert sum(bool(with_simplification(Schedule(one))[1]) for one in chains) >= 4


def _build() -> tuple[KernelBuilder, object]:
    build = KernelBuilder("example")
    return build, build.parameter("n", minimum=4)


def test_a_producer_moves_into_its_reader() -> None:
    build, n = _build()
    x, y = build.input("x", "f32", (n,)), build.output("y", "f32", (n,))
    t = build.temporary("t", "f32", (n,))
    with build.loops(i=n) as i:
        t[i] = x[i] * 0.5
    with build.loops(j=n) as j:
        y[j] = t[j] * t[j]
    kernel = same_values(build.kernel())
    assert list(kernel.statements) == ["y"]
    assert "t" not in kernel.arrays


def test_a_fill_keeps_the_frame_only() -> None:
    build, n = _build()
    x, y = build.input("x", "f32", (n,)), build.output("y", "f32", (n,))
    with build.loops(i=n) as i:
        y[i] = 0.0
    with build.loops(j=(1, n - 1)) as j:
        y[j] = x[j]
    kernel = same_values(build.kernel())
    fills = [one for one in kernel.statements.values() if not one.reads]
    assert sorted(len(points(one.domain, {"n": 9})) for one in fills) == [1, 1]


def test_a_changed_operand_keeps_the_temporary() -> None:
    build, n = _build()
    x, y = build.inout("x", "f32", (n,)), build.output("y", "f32", (n,))
    t = build.temporary("t", "f32", (n,))
    with build.loops(i=n) as i:
        t[i] = x[i] * 0.5
    with build.loops(k=n) as k:
        x[k] = 1.0
    with build.loops(j=n) as j:
        y[j] = t[j]
    assert "t" in same_values(build.kernel()).arrays


def test_a_change_after_the_reader_does_not_matter() -> None:
    build, n = _build()
    x, y = build.inout("x", "f32", (n,)), build.output("y", "f32", (n,))
    t = build.temporary("t", "f32", (n,))
    with build.loops(i=n) as i:
        t[i] = x[i] * 0.5
    with build.loops(j=n) as j:
        y[j] = t[j]
    with build.loops(k=n) as k:
        x[k] = 1.0
    assert "t" not in same_values(build.kernel()).arrays


def test_an_expensive_value_of_two_readers_is_computed_once() -> None:
    build, n = _build()
    x, y = build.input("x", "f32", (n,)), build.output("y", "f32", (n, 2))
    t = build.temporary("t", "f32", (n,))
    with build.loops(i=n) as i:
        t[i] = np.sqrt(x[i])
    with build.loops(j=n) as j:
        y[j, 0] = t[j]
    with build.loops(k=n) as k:
        y[k, 1] = t[k]
    assert "t" in same_values(build.kernel()).arrays


def test_branches_that_use_different_values_repeat_nothing() -> None:
    build, n = _build()
    x, y = build.input("x", "f32", (n,)), build.output("y", "f32", (n,))
    t = build.temporary("t", "f32", (n,))
    with build.loops(i=n) as i:
        t[i] = np.sqrt(x[i])
        with build.where(i < 1):
            y[i] = t[i]
        with build.where(i >= 1):
            y[i] = t[i] + y[i - 1]
    assert "t" not in same_values(build.kernel()).arrays


def test_the_signs_of_zeros_stay_apart() -> None:
    build, n = _build()
    y = build.output("y", "f32", (n, 2))
    t = build.temporary("t", "f32", (n, 2))
    with build.loops(i=n) as i:
        t[i, 0] = 0.0
        t[i, 1] = -0.0
    with build.loops(j=n) as j:
        y[j, 0] = t[j, 0] + t[j, 1]
        y[j, 1] = t[j, 1] + t[j, 1]
    kernel = same_values(build.kernel())
    results = run_reference(kernel, random_arguments(kernel, {"n": 5}), {"n": 5})
    assert np.signbit(results["y"]).tolist() == [[False, True]] * 5


def test_a_schedule_file_replays_what_the_autoscheduler_simplified() -> None:
    kernel = random_chain(3)
    schedule, decisions = with_simplification(Schedule(kernel))
    replayed = Schedule(kernel)
    for step in (step for decision in decisions for step in decision.steps):
        replayed = replayed.then(step)
    assert decisions
    assert replayed.program.kernel == schedule.program.kernel


SOLVE = """
void solve(int n, const float l[restrict n][n], const float b[restrict n], float x[restrict n])
{
    for (int i = 0; i < n; i++) {
        float s = b[i];
        for (int j = 0; j < i; j++) s -= l[i][j] * x[j];
        x[i] = s;
    }
}
"""


def test_tails_of_sums_keep_the_order_of_terms() -> None:
    kernel = replace(parse_c(SOLVE).with_fast_math().kernel, fp_contract=False)
    split = Schedule(kernel).simplify(tails=4)
    full, tail = (split.program.statements[name] for name in ("s_2", "s_2_part1"))
    sizes = {"n": 11}
    rows = [
        [sum(point[0] == i for point in points(part.domain, sizes)) for i in range(11)]
        for part in (full, tail)
    ]
    assert rows == [[i - i % 4 for i in range(11)], [i % 4 for i in range(11)]]
    arguments = random_arguments(kernel, sizes)
    expected = run_reference(kernel, arguments, sizes)
    found = run_reference(split.program.kernel, arguments, sizes)
    np.testing.assert_array_equal(found["x"], expected["x"])
    assert check(split).is_legal


def test_sums_that_do_not_end_at_a_stored_element_have_no_tails() -> None:
    for change in (("x[j];", "b[j];"), ("j < i", "j < n")):
        kernel = parse_c(SOLVE.replace(*change)).with_fast_math().kernel
        schedule = Schedule(kernel)
        assert schedule.simplify(tails=4).program.statements.keys() == kernel.statements.keys()
    with pytest.raises(ScheduleError, match="tails=-1"):
        schedule.simplify(tails=-1)
