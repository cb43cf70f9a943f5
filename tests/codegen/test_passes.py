"""The list of passes: what each leaves, and that no pass changes what a program computes."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps
from polysched.codegen.passes import PASSES, run_passes
from polysched.ir.core.tree import LoopKind
from polysched.loops.interpret.interpreter import interpret
from polysched.loops.ir.nodes import For, LoopProgram, walk
from polysched.lower import STAGES, lower
from polysched.machine.presets import PRESETS
from tests.support.differential import assert_equal

VNNI = PRESETS["sapphirerapids"]
N = 16


@pytest.fixture(scope="module")
def loops() -> LoopProgram:
    """A kernel in which every pass has work: an accumulator, groups of terms, a transposition."""
    build = ps.KernelBuilder("all_passes")
    x, y = build.input("x", ps.u8, (N, 4)), build.input("y", ps.i8, (N, N, 4))
    given, turned = build.input("given", ps.i32, (N, N)), build.output("turned", ps.i32, (N, N))
    total = build.inout("total", ps.i32, (N,))
    with build.loops(q=N, i=N, t=4) as (q, i, t), build.statement("sum", order="any"):
        total[i] += ps.cast(x[q, t], ps.i32) * ps.cast(y[q, i, t], ps.i32)
    with build.loops(r=N, c=N) as (r, c), build.statement("turn"):
        turned[r, c] = given[c, r]
    schedule = ps.Schedule(build.kernel()).vectorize("i", N).unroll("t")
    schedule = schedule.tensorize("iv", "vpdpbusd")
    return lower(schedule.vectorize("c", N).unroll("r").transpose("cv", "r"))


def given() -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    return {
        "x": random.integers(0, 256, (N, 4), np.uint8),
        "y": random.integers(-128, 128, (N, N, 4), np.int8),
        "given": random.integers(-9, 9, (N, N), np.int32),
        "total": random.integers(-9, 9, N, np.int32),
    }


@pytest.mark.parametrize("name", [one.name for one in PASSES])
def test_a_pass_changes_the_program_and_not_its_result(name: str, loops: LoopProgram) -> None:
    names = [one.name for one in PASSES]
    before = loops
    if name != names[0]:
        before = run_passes(loops, VNNI, last=names[names.index(name) - 1])
    after = run_passes(loops, VNNI, last=name)
    assert after.body != before.body
    assert_equal(interpret(after, given(), {}), interpret(loops, given(), {}), name)


def test_no_unrolled_loop_is_left(loops: LoopProgram) -> None:
    kinds = [node.kind for node in walk(run_passes(loops, VNNI).body) if isinstance(node, For)]
    assert kinds
    assert LoopKind.UNROLLED not in kinds


def test_the_arrays_in_registers_are_named(loops: LoopProgram) -> None:
    assert loops.registers == ()
    promoted = run_passes(loops, VNNI, last="promote").registers
    tiled = run_passes(loops, VNNI).registers
    assert set(promoted) < set(tiled) < set(run_passes(loops, VNNI).arrays)


def test_every_pass_is_a_stage_between_the_loops_and_llvm() -> None:
    stages, names = list(STAGES), [one.name for one in PASSES]
    start = stages.index(names[0])
    assert stages[start : start + len(names)] == names
    assert stages.index("loops") < start < stages.index("llvm")
