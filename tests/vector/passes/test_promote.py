"""Accumulators in registers: that slots are, and that nothing else changes."""

from dataclasses import replace

import numpy as np
import pytest

from polysched.inspect.assembly import hot_loop, parse
from polysched.ir.core.kernel import Kernel, Role
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32, i32
from polysched.ir.expr.expressions import Constant, Index
from polysched.ir.semantics.reference import run_reference
from polysched.llvm.emit.module import emit_module
from polysched.loops.ir.nodes import Allocate, If, LoopNode, LoopProgram, block
from polysched.lower import lower
from polysched.machine.load import load_machine
from polysched.runtime.jit import emit_assembly
from polysched.schedule.schedule import Schedule
from polysched.vector.passes.promote import promote_registers
from polysched.vector.passes.unroll import unroll_loops
from tests.llvm.emit.accumulations import add, i, k, lanes, line, m, v
from tests.llvm.emit.test_nodes import assert_runs_as_interpreted
from tests.loops.programs import array, assign, load, loop, program
from tests.support import kernels
from tests.support.differential import arguments, assert_agrees, assert_equal, spread
from tests.support.interpreting import interpret


def promoted(made: LoopProgram, budget: int = 32) -> LoopProgram:
    return promote_registers(unroll_loops(made), budget)


def registers(made: LoopProgram, budget: int = 32) -> int:
    return len(promoted(made, budget).registers)


def test_accumulator_of_a_loop() -> None:
    made = line(loop("k", 0, 9, add(3, k)))
    assert registers(made) == 1
    assert_runs_as_interpreted(made)


def test_vector_accumulators() -> None:
    made = line(loop("k", 0, 9, lanes(add(v, v + k)), lanes(add(v + 8, v + 2 * k))))
    assert registers(made) == 2
    assert_runs_as_interpreted(made)


def test_loop_that_may_not_run() -> None:
    made = line(loop("k", 0, m, add(3, k)), context="[m] -> { : 0 <= m < 9 }")
    assert registers(made) == 1
    for value in (0, 1, 5):
        assert_runs_as_interpreted(made, m=value)


@pytest.mark.parametrize("around", [False, True])
def test_an_element_that_exists_only_if_the_loop_runs(around: bool) -> None:
    body: LoopNode = loop("k", 0, m, add(m - 1, k))
    made = line(loop("i", 0, 2, body) if around else body, context="[m] -> { : 0 <= m < 9 }")
    changed = promoted(made)
    assert changed.registers
    given = {name: np.arange(64, dtype=np.int32) for name in ("x", "y")}
    for value in (0, 1, 5):
        expected = interpret(made, given, {"m": value})
        assert_equal(interpret(changed, given, {"m": value}), expected, f"m = {value}")


def test_partial_vector() -> None:
    made = line(loop("k", 0, 9, lanes(add(v, k), upper=m)), context="[m] -> { : 0 <= m <= 8 }")
    for value in (0, 1, 5, 8):
        assert_runs_as_interpreted(made, m=value)


@pytest.mark.parametrize("lower", [0, 2])
def test_a_vector_that_statements_of_a_block_update(lower: int) -> None:
    part = [replace(lanes(add(v + 8, v + j), upper=m), lower=Constant(lower)) for j in range(3)]
    made = line(If(m < 7, block(part)), context="[m] -> { : 0 <= m <= 8 }")
    assert registers(made) == 1
    others = [lanes(add(v + 8 * j, v + j), upper=m) for j in range(3)]
    assert registers(line(block(others))) == 0  # each once
    assert registers(line(block([*part, loop("k", 0, 9, add(3, k))]))) == 1  # that of the loop
    assert registers(line(block([*part, add(9, 3)]))) == 0  # an element of the vector
    for value in range(9):
        assert_runs_as_interpreted(made, m=value)


def test_vectors_under_conditions_that_do_not_change() -> None:
    """The last rows and columns of a tile: no other element is read or written."""
    row = [If(m > j, lanes(add(v + 8 * j, v + k), upper=m - j)) for j in range(5)]
    made = line(loop("k", 0, 9, *row), context="[m] -> { : 0 <= m <= 8 }")
    assert registers(made) == 5
    for value in range(9):
        assert_runs_as_interpreted(made, m=value)


def test_an_element_that_exists_only_under_a_condition() -> None:
    made = line(loop("k", 0, 9, If(m < 64, add(m, k))), context="[m] -> { : 0 <= m < 90 }")
    changed = promoted(made)
    assert changed.registers
    given = {name: np.arange(64, dtype=np.int32) for name in ("x", "y")}
    for value in (0, 63, 64, 89):
        expected = interpret(made, given, {"m": value})
        assert_equal(interpret(changed, given, {"m": value}), expected, f"m = {value}")


def test_strided_vector_at_the_end_of_an_array() -> None:
    """Lanes between the strided ones are neither read nor written back: the last lies outside."""
    build = KernelBuilder("strided")
    n = build.parameter("n", minimum=1)
    a, x = build.inout("a", i32, (2 * n - 1,)), build.input("x", i32, (4,))
    with build.loops(s=4, i=(0, 2 * n, 2)) as (s, j), build.statement("S"):
        a[j] = a[j] + x[s]
    schedule = Schedule(build.kernel()).split("i", 8, ("io", "ii")).reorder("io", "s", "ii")
    schedule = schedule.vectorize("ii", 8)
    made = promoted(lower(schedule))
    assert len(made.registers) == 1
    for size in spread("n"):
        given = arguments(schedule.kernel, size)
        assert_equal(
            interpret(made, given, size),
            run_reference(schedule.kernel, given, size),
            str(size),
        )
    assert_agrees(schedule, *spread("n"))


def test_place_that_an_outer_loop_moves() -> None:
    made = line(loop("i", 0, 4, loop("k", 0, 9, add(i, k))))
    assert registers(made) == 1
    assert_runs_as_interpreted(made)


def test_outer_loop_of_any_name() -> None:
    lane = Index("lane")
    update = assign(
        "y", (8 * lane + v,), load("y", 8 * lane + v, dtype=i32) + load("x", v + k, dtype=i32)
    )
    made = line(loop("lane", 0, 4, loop("k", 0, 9, lanes(update))))
    assert registers(made) == 1
    assert_runs_as_interpreted(made)


def test_a_region_with_more_slots_than_registers_stays_in_memory() -> None:
    made = line(loop("k", 0, 9, add(1, k), add(2, k), add(3, k)))
    assert registers(made, budget=3) == 3
    assert registers(made, budget=2) == 0


def test_buffer_needs_no_memory() -> None:
    arrays = [
        array("x", (64,), Role.INPUT, i32),
        array("y", (64,), Role.INOUT, i32),
        array("t", (8,), Role.TEMPORARY, i32),
    ]
    t = load("t", v, dtype=i32)
    body = Allocate(
        "t",
        loop(
            "i", 0, 1,
            lanes(assign("t", (v,), load("y", v, dtype=i32))),
            loop("k", 0, 9, lanes(assign("t", (v,), t + load("x", k, dtype=i32)))),
            lanes(assign("y", (v,), t)),
        ),
    )  # fmt: skip
    made = program(arrays, body, context="{ : }")
    assert "t" not in {node.array for node in [promoted(made).body] if isinstance(node, Allocate)}
    assert "alloca [" not in emit_module(made, load_machine(None))
    assert_runs_as_interpreted(made)


# -- the instructions of a register tile


def convolution(height: int = 1, width: int = 10, depth: int = 3, channels: int = 64) -> Kernel:
    """A small channeled convolution with bias."""
    build = KernelBuilder("convolution")
    image = build.input("image", f32, (height + 2, width + 2, depth), dimensions="y x rx")
    weight = build.input("weight", f32, (depth, 3, 3, channels), dimensions="rx rz ry c")
    bias = build.input("bias", f32, (channels,))
    out = build.output("out", f32, (height, width, channels), dimensions="y x c")
    with build.loops(y=height, x=width, c=channels) as (y, x, c), build.statement("init"):
        out[y, x, c] = bias[c]
    nest = build.loops(y=height, x=width, c=channels, rz=3, ry=3, rx=depth)
    with nest as (y, x, c, rz, ry, rx), build.statement("update", order="any"):
        out[y, x, c] += weight[rx, rz, ry, c] * image[y + rz, x + ry, rx]
    return build.kernel()


def register_tile(lanes: int) -> Schedule:
    """5 pixels by 4 vectors in registers across all the reduction loops, as in the tutorial."""
    return (
        Schedule(convolution())
        .split("init.c", 4 * lanes, into=("co", "ci"))
        .split("update.c", 4 * lanes, into=("co", "ci"))
        .split("init.x", 5)
        .split("update.x", 5)
        .reorder("init.co", "init.y", "init.xo", "init.xi", "init.ci")
        .reorder("update.co", "update.y", "update.xo", "rz", "ry", "rx", "update.xi", "update.ci")
        .fuse("init.co", "update.co")
        .fuse("init.y", "update.y")
        .fuse("init.xo", "update.xo")
        .promote("out", at="xo", lanes=lanes)
        .vectorize("init.ci", lanes)
        .vectorize("update.ci", lanes)
        .unroll("init.xi", "init.ci", "update.xi", "update.ci")
    )


@pytest.mark.parametrize("machine", ["sapphirerapids", "znver4", "znver5", "skylake-avx512"])
def test_hot_loop_of_the_register_tile(machine: str) -> None:
    target = load_machine(machine)
    (function,) = parse(emit_assembly(emit_module(lower(register_tile(16)), target), target))
    loop_found = hot_loop(function)
    assert loop_found is not None
    counts = loop_found.counts
    assert counts.fma in (20, 60)  # LLVM may write out the three iterations of a loop
    assert counts.accumulators == 20
    assert counts.widest_register == "zmm"
    assert counts.stores == 0
    assert counts.spills == 0


def test_register_tile_is_right() -> None:
    assert_agrees(register_tile(16), interpreted=False)


def test_parametric_register_tile_keeps_its_accumulators_in_registers() -> None:
    schedule = (
        Schedule(kernels.matmul(dtype=f32))
        .tile(("update.i", "update.j"), (4, 16))
        .reorder("io", "jo", "l", "ii", "ji")
        .promote("c", at="jo", lanes=16)
        .vectorize("ji", 16)
        .unroll("ii")
    )
    target = load_machine("znver4")
    (function,) = parse(emit_assembly(emit_module(lower(schedule), target), target))
    full = hot_loop(function)
    assert full is not None
    assert (full.counts.fma, full.counts.stores, full.counts.spills) == (4, 0, 0)
    assert_agrees(schedule, *spread("m", "n", "k", values=(1, 4, 15, 16, 17)))


def test_narrower_vectors_for_a_machine_without_the_wide_ones() -> None:
    schedule = (
        Schedule(kernels.matmul(16, 16, 16, dtype=f32))
        .tile(("update.i", "update.j"), (4, 8))
        .reorder("io", "jo", "l", "ii", "ji")
        .promote("c", at="jo", lanes=8)
        .vectorize("ji", 8)
        .unroll("ii")
    )
    target = load_machine("haswell-avx2")
    assembly = emit_assembly(emit_module(lower(schedule), target), target)
    assert "%ymm" in assembly
    assert "%zmm" not in assembly
    if not target.missing_on(load_machine(None)):
        assert_agrees(schedule, machine=target)
        assert_agrees(Schedule(kernels.conditions(9)).vectorize("j", 8), machine=target)
        assert_agrees(Schedule(kernels.shuffle(9)).vectorize("strided.i", 8), machine=target)
