"""Loops that count down have lanes in the order of memory where no value tells them apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f64
from polysched.ir.expr.expressions import Expression
from polysched.ir.expr.functions import cast
from polysched.loops.generate import generate_loops
from polysched.machine.load import load_machine
from polysched.schedule.schedule import Schedule
from polysched.vector.ir import VectorProgram
from polysched.vector.pass_list import run_passes
from polysched.vector.printing import print_vectors
from tests.support.differential import assert_agrees

N = 41
Computed = Callable[[Any, Any, Any], Expression]


def downward(value: Computed) -> Schedule:
    build = KernelBuilder("downward")
    u, c = build.inout("u", f64, (N,)), build.input("c", f64, (N,))
    with build.loops(i=(N - 1, 0, -1)) as i:
        u[i] = value(u, c, i)
    return Schedule(build.kernel()).vectorize("i", 8)


CASES: list[tuple[Computed, bool]] = [
    (lambda u, c, i: u[i] - 0.5 * (u[i] - u[i - 1]), True),
    (lambda u, c, i: u[i] - c[0] * u[i - 1], True),
    (lambda u, c, i: u[i] + c[N - 1 - i], False),
    (lambda u, c, i: u[i] + cast(i, f64), False),
]


@pytest.mark.parametrize(("value", "is_forward"), CASES)
def test_vectors_that_all_run_backward_run_forward(value: Computed, is_forward: bool) -> None:
    loops = generate_loops(downward(value).program)
    program = run_passes(loops, load_machine("znver4"), last="forward")
    assert isinstance(program, VectorProgram)
    assert ("reversed" not in print_vectors(program)) == is_forward


@pytest.mark.parametrize("value", [value for value, _ in CASES])
def test_same_results(value: Computed) -> None:
    assert_agrees(downward(value))
