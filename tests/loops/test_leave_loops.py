"""Loops that end where a flag is set, and conditions that are tested before loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.loops.ir.nodes import For, If, LoopProgram, walk
from polysched.loops.leave_loops import leave_loops
from polysched.loops.printers.pseudo import print_loops
from polysched.lower import lower
from tests.support.interpreting import interpret

N, ROWS = 12, 5
Body = Callable[..., None]


def search(extra: Body | None = None) -> ps.Schedule:
    """Add the elements of each row up to the first negative one."""
    build = ps.KernelBuilder("search")
    x, y = build.input("x", ps.i32, (ROWS, N)), build.inout("y", ps.i32, (ROWS,))
    z = build.inout("z", ps.i32, (ROWS, N))
    found = build.temporary("found", ps.i32, ())
    is_on = build.temporary("is_on", ps.boolean, ())
    last = build.temporary("last", ps.i32, ())
    with build.loops(i=ROWS) as i:
        found[()] = 0
        with build.loops(j=N) as j:
            is_on[()] = ~ps.not_equal(found[()], 0)
            y[i] += ps.select(is_on[()], x[i, j], 0)
            found[()] = ps.select(is_on[()] & (x[i, j] < 0), 1, found[()])
            if extra is not None:
                extra(i, j, x=x, y=y, z=z, found=found, is_on=is_on, last=last)
    return ps.Schedule(build.kernel())


def given() -> dict[str, np.ndarray]:
    x = np.random.default_rng(2).integers(-2, 9, (ROWS, N), np.int32)
    return {"x": x, "y": np.arange(ROWS, dtype=np.int32), "z": np.zeros((ROWS, N), np.int32)}


def inner_loop(program: LoopProgram) -> For:
    return next(node for node in walk(program.body) if isinstance(node, For) and node.loop == "j")


def test_a_loop_ends_at_its_flag() -> None:
    loops = lower(search())
    left = leave_loops(loops)
    assert inner_loop(left).until is not None
    assert "for j in 0..12 until found[] != 0:" in print_loops(left)
    assert "is_on[] and" not in print_loops(left)
    assert interpret(left, given(), {})["y"].tolist() == interpret(loops, given(), {})["y"].tolist()
    compiled = ps.compile(search())
    arrays = given()
    compiled(**arrays)
    assert arrays["y"].tolist() == interpret(loops, given(), {})["y"].tolist()


def stores_always(i: Any, j: Any, *, z: Any, **_: Any) -> None:
    z[i, j] = 1


def clears_flag(i: Any, j: Any, *, x: Any, found: Any, **_: Any) -> None:
    found[()] = ps.select(x[i, j] > 7, 0, found[()])


def keeps_last(i: Any, j: Any, *, x: Any, y: Any, is_on: Any, last: Any, **_: Any) -> None:
    y[i] += ps.select(is_on[()], last[()], 0)
    last[()] = x[i, j]


@pytest.mark.parametrize("extra", [stores_always, clears_flag, keeps_last])
def test_a_loop_whose_later_iterations_do_something_runs_them(extra: Body) -> None:
    assert inner_loop(leave_loops(lower(search(extra)))).until is None


@pytest.mark.parametrize("is_read_after", [False, True])
def test_a_condition_is_tested_before_a_loop_that_needs_it(is_read_after: bool) -> None:
    build = ps.KernelBuilder("guarded")
    x, y = build.input("x", ps.f64, (ROWS, N)), build.inout("y", ps.f64, (ROWS,))
    is_on = build.temporary("is_on", ps.boolean, ())
    total = build.temporary("total", ps.f64, ())
    with build.loops(i=ROWS) as i:
        is_on[()] = x[i, 0] > 0
        total[()] = 0
        with build.loops(j=N) as j:
            total[()] += ps.select(is_on[()], x[i, j], -0.0)
        y[i] = total[()] if is_read_after else ps.select(is_on[()], total[()], y[i])
    loops = lower(ps.Schedule(build.kernel()))
    left = leave_loops(loops)
    branch = next(node for node in walk(left.body) if isinstance(node, If))
    assert "select" not in print_loops(left)
    writes = [line for line in print_loops(left).splitlines() if "total[] = 0" in line]
    # Where the total is read after the loop, it is cleared without the condition.
    assert writes == ["  " * (1 if is_read_after else 2) + "total[] = 0"]
    assert any(isinstance(node, For) for node in walk(branch))
    arrays = {"x": np.random.default_rng(1).random((ROWS, N)) - 0.5, "y": np.ones(ROWS)}
    assert interpret(left, arrays, {})["y"].tolist() == interpret(loops, arrays, {})["y"].tolist()
