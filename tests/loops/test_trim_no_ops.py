"""Loops that are trimmed to the iterations in which a statement changes its target."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest

import polysched as ps
from polysched.errors import LoweringError
from polysched.ir.expr.linear import FAR
from polysched.loops.ir.nodes import Assign, For, walk
from polysched.loops.printers.c import print_c
from polysched.loops.trim_no_ops import trim_no_ops
from polysched.lower import lower
from tests.support.interpreting import interpret

M, ROWS = 24, 7
POINTERS = (
    np.array([0, 3, 3, 10, 10, 11, 19, 24]),
    np.array([5, 2, 9, 1, 30, -7, 24, 0]),
    np.array([2**62, -(2**62), 2**62, 0, 24, -(2**63), 2**63 - 1, -(2**63)]),
)


def segments(order: str = "exact", most: int = M) -> ps.Schedule:
    """Sum ``x[k]`` for k from ``ptr[i]`` to ``ptr[i + 1]``."""
    build = ps.KernelBuilder("segments")
    ptr, x = build.input("ptr", ps.i64, (ROWS + 1,)), build.input("x", ps.i64, (most,))
    y = build.inout("y", ps.i64, (ROWS,))
    with build.loops(i=ROWS, k=most) as (i, k), build.statement("sum", order=order):
        y[i] += ps.select((ptr[i] <= k) & (k < ptr[i + 1]), x[k], 0)
    return ps.Schedule(build.kernel())


def expected(ptr: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    ends = [(max(0, int(a)), min(M, int(b))) for a, b in pairwise(ptr)]
    return y + np.array([x[a:b].sum() if a < b else 0 for a, b in ends])


SCHEDULES = {
    "written": segments(),
    "tiles": segments().split("k", 5),
    "reversed": segments("any").reverse("k"),
    "shifted": segments().shift("k", 7),
    "unrolled": segments().split("k", 4).unroll("ki"),
    "lanes of rows": segments().reorder("k", "i").vectorize("i", 4),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_trimmed_loops_compute_the_same(name: str) -> None:
    trimmed = trim_no_ops(lower(SCHEDULES[name]))
    compiled = ps.compile(SCHEDULES[name])
    for ptr in POINTERS:
        x, y = np.arange(M) ** 2 + 1, np.arange(ROWS)
        given = {"ptr": ptr, "x": x, "y": y}
        assert interpret(trimmed, given, {})["y"].tolist() == expected(ptr, x, y).tolist()
        made = y.copy()
        compiled(ptr=ptr, x=x, y=made)
        assert made.tolist() == expected(ptr, x, y).tolist()


def test_a_condition_that_the_bounds_imply_is_dropped() -> None:
    loops = [one for one in walk(trim_no_ops(lower(segments())).body) if isinstance(one, For)]
    loop = loops[1]
    assert "ptr" in str(loop.lower)
    assert isinstance(loop.body, Assign)
    assert "select" not in str(loop.body.value)


def test_bounds_that_a_loop_changes_do_not_trim_it() -> None:
    build = ps.KernelBuilder("moving")
    ptr, x = build.inout("ptr", ps.i64, (1,)), build.inout("x", ps.i64, (M,))
    with build.loops(k=M) as k:
        x[k] = ps.select(k < ptr[0], x[k] + 1, x[k])
        ptr[0] = ps.select(k < ptr[0], ptr[0] + 1, ptr[0])
    loops = lower(ps.Schedule(build.kernel()))
    given = {"ptr": np.array([3]), "x": np.zeros(M, np.int64)}
    assert interpret(trim_no_ops(loops), given, {})["x"].tolist() == [1] * M


def test_a_comparison_of_floats_bounds_no_loop() -> None:
    build = ps.KernelBuilder("floats")
    x = build.inout("x", ps.f64, (M,))
    with build.loops(k=M) as k:
        x[k] = ps.select(x[k] < float("inf"), x[k] + 1, x[k])
    given = {"x": np.full(M, 2.0)}
    loops = trim_no_ops(lower(ps.Schedule(build.kernel())))
    assert interpret(loops, given, {})["x"].tolist() == [3.0] * M


def test_a_statement_without_the_condition_keeps_the_loop() -> None:
    build = ps.KernelBuilder("beside")
    n, x = build.input("n", ps.i64, (1,)), build.inout("x", ps.i64, (M,))
    count = build.inout("count", ps.i64, (1,))
    with build.loops(k=M) as k:
        x[k] = ps.select(k < n[0], x[k] + 1, x[k])
        count[0] += 1
    loops = lower(ps.Schedule(build.kernel()))
    given = {"n": np.array([3]), "x": np.zeros(M, np.int64), "count": np.zeros(1, np.int64)}
    assert interpret(trim_no_ops(loops), given, {})["count"].tolist() == [M]


def test_a_loop_that_only_data_bounds_must_be_trimmed() -> None:
    build = ps.KernelBuilder("endless")
    n, count = build.input("n", ps.i64, (2,)), build.inout("count", ps.i64, (1,))
    with build.loops(i=2, k=FAR) as (i, k), build.statement("count", order="any"):
        count[0] += ps.select(k < n[i], 1, 0)
    schedule = ps.Schedule(build.kernel())
    trim_no_ops(lower(schedule))
    assert re.search(r"for \(int64_t k.* < .*n\[i\]", print_c(lower(schedule)))
    for make in (trim_no_ops, print_c):
        with pytest.raises(LoweringError, match="loop 'k' is not trimmed"):
            make(lower(schedule.reorder("k", "i")))


def test_bounds_are_read_only_where_the_loop_reads_them() -> None:
    build = ps.KernelBuilder("empty")
    n, m = build.parameter("n", minimum=0), build.parameter("m", minimum=0)
    first, x = build.input("first", ps.i64, (m,)), build.inout("x", ps.i64, (n, m))
    with build.loops(i=n, j=m) as (i, j):
        x[i, j] = ps.select(first[0] <= i, x[i, j] + 1, x[i, j])
    trimmed = trim_no_ops(lower(ps.Schedule(build.kernel())))
    assert any("first" in str(one.lower) for one in walk(trimmed.body) if isinstance(one, For))
    for sizes in ({"n": 3, "m": 0}, {"n": 0, "m": 2}, {"n": 3, "m": 2}):
        given = {"first": np.full(sizes["m"], 1), "x": np.zeros((sizes["n"], sizes["m"]), np.int64)}
        rows = interpret(trimmed, given, sizes)["x"].sum(axis=1)
        assert rows.tolist() == [0, sizes["m"], sizes["m"]][: sizes["n"]]
