"""Iterations of a recurrence that are written out, also of several statements."""

from __future__ import annotations

import pytest

import polysched as ps
from polysched.autoscheduler.facts.operations import count_operations
from polysched.autoscheduler.forms.candidate import Situation
from polysched.autoscheduler.forms.nests import outer_nests
from polysched.autoscheduler.recipes.recurrence import MOST_COPIES, recurrence
from polysched.machine.presets import PRESETS
from polysched.schedule.primitives.split import Split
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees, spread


def sums(form: str) -> ps.Kernel:
    """A row that counts from the element before, or from a sum that it uses."""
    build = ps.KernelBuilder("sums")
    n = build.parameter("n")
    x, y = build.input("x", ps.i32, (n,)), build.inout("y", ps.i32, (n + 1,))
    total = build.temporary("total", ps.i32, ())
    flag = build.temporary("flag", ps.boolean, ())
    if form in ("running", "alone", "compared"):
        with build.statement("start"):
            total[()] = 0
    with build.loops(i=n) as i:
        if form == "compared":
            with build.statement("compare"):
                flag[()] = total[()] < x[i]
            with build.statement("choose"):
                total[()] = ps.select(flag[()], x[i], total[()])
        if form in ("running", "alone"):
            with build.statement("add", order="any"):
                total[()] += x[i]
        if form != "alone":
            with build.statement("store"):
                y[i + 1] = y[i] + x[i] if form == "row" else total[()]
    if form == "alone":
        with build.statement("end"):
            y[0] = total[()]
    return build.kernel()


@pytest.mark.parametrize(
    ("form", "factors"),
    [
        ("row", [16, 8, 4]),
        ("running", [8, 4]),  # two statements: at most 16 copies
        ("alone", []),  # partial sums do not wait
        ("compared", []),  # selections of copies would become one chain
    ],
)
def test_how_many_iterations_are_written_out(form: str, factors: list[int]) -> None:
    schedule = Schedule(sums(form))
    nest = next(outer_nests(schedule.program.tree))
    situation = Situation(schedule, nest, PRESETS["znver4"], {"n": 1000})
    proposals = list(recurrence(situation))
    steps = [step for proposal in proposals for step in proposal.steps if isinstance(step, Split)]
    assert [step.factor for step in steps] == factors
    assert all(factor * len(nest.statements) <= MOST_COPIES for factor in factors)
    for proposal in proposals:
        changed = schedule
        for step in proposal.steps:
            changed = changed.then(step)
        assert_agrees(changed, *spread("n", values=(0, 1, 7, 21)))


@pytest.mark.parametrize(
    ("form", "are_short"),
    [
        ("extremum", True),
        ("counted", True),  # the selected literals do not wait for the element before
        ("sum", False),
        ("product", False),
        ("selected", False),
        ("float", False),
    ],
)
def test_which_operations_take_one_cycle_in_a_chain(form: str, are_short: bool) -> None:
    dtype = ps.f32 if form == "float" else ps.i32
    build = ps.KernelBuilder("row")
    x, y = build.input("x", dtype, (9,)), build.inout("y", dtype, (10,))
    with build.loops(i=9) as i, build.statement("S"):
        y[i + 1] = {
            "extremum": lambda: ps.minimum(y[i] + 1, x[i]),
            "float": lambda: ps.minimum(y[i] + 1, x[i]),
            "counted": lambda: ps.minimum(y[i] + ps.select(x[i] < 3, 1, 2), x[i]),
            "sum": lambda: y[i] + x[i],
            "product": lambda: ps.minimum(y[i] * x[i], x[i]),
            "selected": lambda: ps.select(x[i] < 3, x[i], ps.minimum(y[i], x[i])),
        }[form]()
    (statement,) = build.kernel().statements.values()
    assert count_operations(statement, fp_contract=True).are_short is are_short
