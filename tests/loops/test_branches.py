"""Scalar statements that need the same condition, in one branch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.loops.branches import form_branches
from polysched.loops.ir.nodes import If, walk
from polysched.loops.leave_loops import leave_loops
from polysched.loops.printers.pseudo import print_loops
from polysched.lower import lower
from tests.support.interpreting import interpret

N = 30


def search(*, stores_after: bool = False) -> ps.Schedule:
    """Find the first negative element, its square and its position."""
    build = ps.KernelBuilder("search")
    x, y = build.input("x", ps.i32, (N,)), build.inout("y", ps.i32, (N,))
    found, at = build.temporary("found", ps.i32, ()), build.output("at", ps.i64, ())
    square = build.output("square", ps.i32, ())
    is_on, holds = (build.temporary(name, ps.boolean, ()) for name in ("is_on", "holds"))
    found[()], at[()], square[()] = 0, -1, 0
    with build.loops(j=N) as j:
        is_on[()] = ps.equal(found[()], 0)
        holds[()] = is_on[()] & (x[j] < 0)
        at[()] = ps.select(holds[()], j, at[()])
        square[()] = ps.select(holds[()], x[j] * x[j], square[()])
        if stores_after:
            y[j] = ps.select(is_on[()], 7, y[j])
        found[()] = ps.select(holds[()], 1, found[()])
        y[j] = ps.select(is_on[()] & ~holds[()], x[j], y[j])
    return ps.Schedule(build.kernel())


def given(seed: int) -> dict[str, Any]:
    x = np.random.default_rng(seed).integers(-1, 20, N, np.int32)
    return {"x": x, "y": np.zeros(N, np.int32)}


@pytest.mark.parametrize("stores_after", [False, True])
def test_branches_compute_the_same(stores_after: bool) -> None:
    schedule = search(stores_after=stores_after)
    loops = lower(schedule)
    formed = form_branches(leave_loops(loops))
    compiled = ps.compile(schedule)
    for seed in range(4):
        wanted = interpret(loops, given(seed), {})
        arrays = given(seed) | {"at": np.zeros((), np.int64), "square": np.zeros((), np.int32)}
        compiled(**arrays)
        for result in (interpret(formed, given(seed), {}), arrays):
            assert all(np.array_equal(result[name], wanted[name]) for name in wanted)


def test_a_branch_that_sets_the_flag_leaves_the_loop() -> None:
    formed = form_branches(leave_loops(lower(search())))
    branches = [node for node in walk(formed.body) if isinstance(node, If)]
    assert [branch.leaves for branch in branches] == [True]
    assert branches[0].otherwise is not None
    assert "select" not in print_loops(formed)


def test_a_branch_before_other_statements_does_not_leave_the_loop() -> None:
    formed = form_branches(leave_loops(lower(search(stores_after=True))))
    first = next(node for node in walk(formed.body) if isinstance(node, If))
    assert not first.leaves


def test_a_branch_that_resets_the_flag_does_not_leave_the_loop() -> None:
    build = ps.KernelBuilder("resets")
    x, count = build.input("x", ps.i32, (N,)), build.output("count", ps.i32, ())
    found, is_on, again = (
        build.temporary(name, dtype, ())
        for name, dtype in (("found", ps.i32), ("is_on", ps.boolean), ("again", ps.boolean))
    )
    found[()], count[()] = 0, 0
    with build.loops(j=N) as j:
        is_on[()] = ps.equal(found[()], 0)
        again[()] = is_on[()] & (x[j] < 18)
        found[()] = ps.select(is_on[()] & (x[j] > 10), 1, found[()])
        count[()] = ps.select(again[()], count[()] + 1, count[()])
        found[()] = ps.select(again[()], 0, found[()])
    schedule = ps.Schedule(build.kernel())
    count_of = {"count": np.zeros((), np.int32)}
    ps.compile(schedule)(x=given(0)["x"], **count_of)
    assert count_of["count"] == interpret(lower(schedule), {"x": given(0)["x"]}, {})["count"] > 1
