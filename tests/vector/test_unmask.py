"""Which registers need no masks, and that the others keep their lanes."""

from __future__ import annotations

import numpy as np
import pytest

from polysched.codegen.assembly import hot_loop, parse
from polysched.codegen.lane_ranges import of_one_range
from polysched.ir.builder import KernelBuilder
from polysched.ir.dtypes import f32
from polysched.ir.expressions import Constant, Expression, Index, Load
from polysched.ir.kernel import Access, Kernel
from polysched.ir.tree import LoopKind
from polysched.loops.nodes import Assign, Block, For, If, LoopNode
from polysched.lower import compile
from polysched.user import Schedule
from tests.support.differential import NO_CACHE

LANE = Index("v")


def add_one(upper: Expression, *, lower: int = 0, guard: Expression | None = None) -> LoopNode:
    """``r[v] = r[v] + 1`` for lanes from lower to upper."""
    body: LoopNode = Assign("S", (), Access("r", (LANE,)), Load("r", (LANE,), f32) + 1)
    if guard is not None:
        body = If(guard, body)
    return For("v", "v", Constant(lower), upper, 1, LoopKind.VECTOR, body, 16)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([add_one(Constant(13)), add_one(Constant(13))], {"r"}),
        ([add_one(Constant(13)), add_one(Constant(16))], set()),
        ([add_one(Constant(13)), add_one(Constant(13), lower=1)], set()),
        ([add_one(Constant(13), guard=LANE < 5)], set()),
        ([add_one(Index("n"))], set()),
        ([Assign("S", (), Access("r", (Constant(0),)), Constant(1.0, f32))], set()),
        ([If(Load("r", (Constant(0),), f32) < 1, add_one(Constant(13)))], set()),
        ([If(Index("n") < 1, add_one(Constant(13)))], {"r"}),
    ],
)
def test_all_accesses_run_the_same_literal_lanes(nodes: list[LoopNode], expected: set[str]) -> None:
    assert of_one_range(Block(tuple(nodes)), {"r"}) == expected
    assert of_one_range(Block(tuple(nodes)), set()) == set()


def row_sums(columns: int) -> Kernel:
    """``y[j] = sum over k of x[k, j]``."""
    build = KernelBuilder("sums")
    x = build.input("x", f32, (40, columns))
    y = build.output("y", f32, (columns,))
    with build.loops(j=columns) as j, build.statement("clear"):
        y[j] = 0.0
    with build.loops(k=40, i=columns) as (k, i), build.statement("add"):
        y[i] = y[i] + x[k, i]
    return build.kernel()


def test_accumulators_of_some_lanes_are_not_masked() -> None:
    schedule = Schedule(row_sums(13)).vectorize("j", 16).vectorize("i", 16)
    loop = hot_loop(parse(schedule.show("asm", "skylake-avx512"))[0])
    assert loop is not None
    assert loop.counts.vector_moves == 0
    x = np.random.default_rng(1).random((40, 13), np.float32)
    expected = np.zeros(13, np.float32)
    for row in x:
        expected += row
    assert np.array_equal(compile(schedule, cache=NO_CACHE)(x), expected)


def partial_sums() -> Kernel:
    """All 16 sums take the rows, those from 13 on only at the beginning."""
    build = KernelBuilder("partial")
    x = build.input("x", f32, (40, 16))
    y = build.output("y", f32, (16,))
    t = build.temporary("t", f32, (16,))
    with build.loops(j=16) as j, build.statement("clear"):
        t[j] = x[0, j]
    with build.loops(k=40, i=13) as (k, i), build.statement("add"):
        t[i] = t[i] + x[k, i]
    with build.loops(o=16) as o, build.statement("copy"):
        y[o] = t[o]
    return build.kernel()


def test_lanes_that_others_read_are_kept() -> None:
    schedule = Schedule(partial_sums())
    for loop in "jio":
        schedule = schedule.vectorize(loop, 16)
    x = np.random.default_rng(1).random((40, 16), np.float32)
    expected = x[0].copy()
    for row in x:
        expected[:13] += row[:13]
    assert np.array_equal(compile(schedule, cache=NO_CACHE)(x), expected)
