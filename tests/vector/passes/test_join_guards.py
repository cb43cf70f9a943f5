"""Statements with the same guard share it if their order is free."""

from __future__ import annotations

import pytest

from polysched.ir.core.kernel import Role
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f64
from polysched.ir.expr.expressions import Expression, Parameter
from polysched.loops.generate import generate_loops
from polysched.loops.ir.nodes import If, LoopNode
from polysched.schedule.schedule import Schedule
from polysched.vector.ir import Branch, Loop, VectorProgram, walk
from polysched.vector.pass_list import vector_program
from polysched.vector.passes.join_guards import join_guards
from polysched.vector.passes.vectorize import vectorize
from tests.loops.programs import array, assign, load, loop, program
from tests.support.differential import assert_agrees
from tests.vector.programs import AVX512

N = Parameter("n")
FIRST, SECOND = N < 5, N < 6


def copy(target: str, source: str) -> LoopNode:
    """``target[0] = source[0]``."""
    return assign(target, (0,), load(source, 0))


def guarded(guard: Expression, target: str, source: str) -> LoopNode:
    return If(guard, copy(target, source))


@pytest.mark.parametrize(
    ("nodes", "is_joined"),
    [
        ([guarded(FIRST, "a", "x"), guarded(SECOND, "b", "x"), guarded(FIRST, "c", "x")], True),
        ([guarded(FIRST, "a", "x"), guarded(SECOND, "b", "x"), guarded(FIRST, "a", "x")], True),
        ([guarded(FIRST, "a", "x"), copy("b", "x"), guarded(FIRST, "c", "x")], True),
        ([guarded(FIRST, "a", "x"), guarded(SECOND, "b", "c"), guarded(FIRST, "c", "x")], False),
        ([guarded(FIRST, "a", "x"), guarded(SECOND, "b", "x"), guarded(FIRST, "c", "b")], False),
        ([guarded(FIRST, "a", "x"), guarded(SECOND, "a", "x"), guarded(FIRST, "c", "x")], False),
        ([guarded(FIRST, "a", "x"), copy("c", "x"), guarded(FIRST, "c", "x")], False),
        (
            [guarded(FIRST, "a", "x"), loop("k", 0, N, copy("b", "x")), guarded(FIRST, "c", "x")],
            False,
        ),
        (
            [
                guarded(load("a", 0) < 1, "b", "x"),
                guarded(SECOND, "a", "x"),
                guarded(load("a", 0) < 1, "c", "x"),
            ],
            False,
        ),
        (
            [
                guarded(load("x", 0) < 1, "a", "x"),
                guarded(SECOND, "b", "x"),
                guarded(load("x", 0) < 1, "a", "x"),
            ],
            False,
        ),
    ],
)
def test_statements_that_share_a_guard(nodes: list[LoopNode], is_joined: bool) -> None:
    arrays = [array(name, (4,), Role.INOUT) for name in "abc"]
    made = vectorize(program([array("x", (4,), Role.INPUT), *arrays], *nodes), AVX512)
    joined = join_guards(made)
    before, after = (sum(isinstance(n, Branch) for n in walk(p.body)) for p in (made, joined))
    assert after == before - is_joined


def product() -> Schedule:
    """``c = a @ b`` in tiles of 3 rows by 2 vectors, the last of them of unknown width."""
    build = KernelBuilder("product")
    n = build.parameter("n")
    a, b = build.input("a", f64, (6, n)), build.input("b", f64, (n, n))
    c = build.inout("c", f64, (6, n))
    with build.loops(i=6, j=n, k=n) as (i, j, k), build.statement("sum"):
        c[i, j] = c[i, j] + a[i, k] * b[k, j]
    tiled = Schedule(build.kernel()).split("i", 3).split("j", 16).reorder("jo", "io", "k", "ii")
    return tiled.vectorize("ji", 8).unroll("ii").unroll("ji")


def test_rows_of_a_partial_tile_share_the_tests_of_its_columns() -> None:
    schedule = product()
    vectors = vector_program(generate_loops(schedule.program), AVX512)
    assert isinstance(vectors, VectorProgram)
    sums = [one for one in walk(vectors.body) if isinstance(one, Loop) and one.name == "k"]
    tests = [sum(isinstance(node, Branch) for node in walk(one.body)) for one in sums]
    assert max(tests) <= 2  # vectors, not rows by vectors
    for n in (7, 20):
        assert_agrees(schedule, {"n": n})
