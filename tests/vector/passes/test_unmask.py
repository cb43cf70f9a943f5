"""Which registers need no masks, and that the others keep their lanes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polysched.inspect.assembly import hot_loop, parse
from polysched.ir.core.kernel import Kernel, Role
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32
from polysched.ir.expr.expressions import Constant, Expression, Index, Operand, Parameter
from polysched.loops.ir.nodes import If, LoopNode
from polysched.lower import compile
from polysched.user import Schedule
from polysched.vector.ir import Assign, Branch, Keep, walk
from polysched.vector.passes.unmask import unmask_registers
from polysched.vector.passes.vectorize import vectorize
from polysched.vector.values import All
from tests.loops.programs import array, assign, load, loop, program, vector
from tests.support.differential import NO_CACHE
from tests.vector.programs import AVX512

LANE, N, K = Index("v"), Parameter("n"), Index("k")


def add_one(upper: Operand, *, lower: int = 0, guard: Expression | None = None) -> LoopNode:
    """``r[v] = r[v] + 1`` for lanes from lower to upper."""
    body: LoopNode = assign("r", (LANE,), load("r", LANE) + 1)
    return replace(vector("v", lower, upper, body if guard is None else If(guard, body)), lanes=16)


def clear(upper: Operand) -> LoopNode:
    """``r[v] = 0`` for lanes up to upper."""
    return replace(vector("v", 0, upper, assign("r", (LANE,), Constant(0, f32))), lanes=16)


@pytest.mark.parametrize(
    ("nodes", "is_dead"),
    [
        ([add_one(13), add_one(13)], True),
        ([add_one(13), add_one(16)], False),
        ([add_one(13), add_one(13, lower=1)], False),
        ([add_one(13, guard=LANE < N)], False),
        ([add_one(13, guard=LANE < 5), add_one(5)], True),
        ([add_one(N)], False),
        ([add_one(13), If(load("r", 0) < 1, add_one(13))], False),
        ([clear(N), add_one(N), add_one(N)], True),
        ([clear(N), add_one(N), add_one(13)], False),
        ([clear(N), loop("k", 0, 3, add_one(N))], True),
        ([loop("k", 0, 3, clear(N)), add_one(N)], True),
        ([loop("k", 0, N, clear(N)), add_one(N)], False),
        ([loop("k", 0, 3, clear(N), loop("l", 0, 3, add_one(N)))], True),
        ([clear(K), loop("k", 0, 3, add_one(K))], False),
        ([loop("k", 0, 3, clear(K), add_one(K))], True),
        ([If(N < 5, clear(N), clear(N)), add_one(N)], True),
        ([If(N < 5, clear(N)), add_one(N)], False),
        ([If(N < 5, clear(N)), If(N < 5, add_one(N))], True),
        ([If(N < 5, clear(N)), If(N < 6, add_one(N))], False),
        ([If(N < 5, clear(N)), If(N < 5, If(K < 6, add_one(N)))], True),
        ([If(N < 5, If(K < 6, clear(N))), If(N < 5, add_one(N))], False),
        ([If(N < 5, clear(N)), loop("k", 0, 3, If(N < 5, add_one(N)))], True),
        ([loop("k", 0, 3, If(K < 2, clear(N)), If(K < 2, add_one(N)))], True),
        ([If(K < 2, clear(N)), loop("k", 0, 3, If(K < 2, add_one(N)))], False),
        ([loop("k", 0, 3, If(K < 2, clear(N))), If(K < 2, add_one(N))], False),
        ([clear(N), If(N < 5, clear(16)), add_one(N)], False),
        ([clear(N), If(N < 5, clear(N)), add_one(N)], True),
        ([If(load("r", 0) < 5, clear(N)), If(load("r", 0) < 5, add_one(N))], False),
        ([clear(16), add_one(16), clear(N), add_one(N)], True),
        ([clear(16), add_one(N), add_one(16)], False),
        ([If(N < 1, add_one(13))], True),
    ],
)
def test_registers_that_are_read_in_the_lanes_that_were_written(
    nodes: list[LoopNode], is_dead: bool
) -> None:
    r = array("r", (16,), Role.TEMPORARY)
    made = replace(program([r], *nodes), registers={"r": "sums"})
    rewritten = unmask_registers(vectorize(made, AVX512))
    targets = [node.target for node in walk(rewritten.body) if isinstance(node, Assign)]
    assert {target.masked for target in targets if isinstance(target, Keep)} == {not is_dead}


@pytest.mark.parametrize(
    ("role", "size", "upper", "is_whole"),
    [
        (Role.TEMPORARY, 24, N, True),
        (Role.TEMPORARY, 24, 13, True),
        (Role.TEMPORARY, 23, N, False),
        (Role.INPUT, 24, N, False),  # the caller's memory may end behind the last active lane
    ],
)
def test_dead_lanes_compute_if_they_only_read_memory_that_exists(
    role: Role, size: int, upper: Operand, is_whole: bool
) -> None:
    r, x = array("r", (16,), Role.TEMPORARY), array("x", (3, size), role)
    value = load("r", LANE) * 2 + load("x", K, LANE + 8)
    update = replace(vector("v", 0, upper, assign("r", (LANE,), value)), lanes=16)
    made = replace(program([r, x], clear(upper), loop("k", 0, 3, update)), registers={"r": "sums"})
    rewritten = unmask_registers(vectorize(made, AVX512))
    *_, last = (node for node in walk(rewritten.body) if isinstance(node, Assign))
    assert last.lanes is not None
    assert (last.lanes.active == All()) == is_whole
    some = [node for node in walk(rewritten.body) if isinstance(node, Branch)]
    assert bool(some) == (is_whole and upper is N)


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
    for name in "jio":
        schedule = schedule.vectorize(name, 16)
    x = np.random.default_rng(1).random((40, 16), np.float32)
    expected = x[0].copy()
    for row in x:
        expected[:13] += row[:13]
    assert np.array_equal(compile(schedule, cache=NO_CACHE)(x), expected)
