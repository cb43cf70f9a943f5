"""Machine code of loop programs written by hand, against the interpreter."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polysched.errors import LoweringError
from polysched.ir.core.kernel import Role
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Constant, Index, Load, Operand, Parameter
from polysched.ir.expr.functions import select
from polysched.ir.semantics.memory import AnyArray
from polysched.llvm.emit.module import emit_module
from polysched.loops.ir.nodes import Allocate, Block, For, If, LoopNode, LoopProgram
from polysched.machine.load import load_machine
from polysched.runtime.compiling import compile_kernel
from polysched.runtime.jit import emit_assembly
from tests.loops.programs import array, assign, load, loop, program, vector
from tests.support.differential import NO_CACHE, assert_equal
from tests.support.interpreting import interpret

v, i, m = Index("v"), Index("i"), Parameter("m")
HOST = load_machine(None)


def lanes(count: int, lower: Operand, upper: Operand, *body: LoopNode, step: int = 1) -> For:
    return replace(vector("v", lower, upper, *body), lanes=count, step=step)


def x(*subscripts: Operand) -> Load:
    return load("x", *subscripts, dtype=i32)


def y(*subscripts: Operand) -> Load:
    return load("y", *subscripts, dtype=i32)


def on_line(*body: LoopNode, context: str = "{ : }") -> LoopProgram:
    arrays = [array("x", (32,), Role.INPUT, i32), array("y", (32,), Role.INOUT, i32)]
    return program(arrays, *body, context=context)


def assert_runs_as_interpreted(made: LoopProgram, **parameters: int) -> dict[str, AnyArray]:
    generator = np.random.default_rng(3)
    given: dict[str, Any] = {
        name: generator.integers(-9, 10, [int(str(e)) for e in one.shape]).astype(one.dtype.numpy())
        for name, one in made.arrays.items()
        if one.role is not Role.TEMPORARY
    }
    expected = interpret(made, given, parameters)
    compiled = compile_kernel(made, emit_module(made, HOST), HOST, cache=NO_CACHE)
    compiled(**given, **parameters)
    assert_equal(given, expected, f"machine code at {parameters}")
    return expected


def test_lanes_between_parametric_ends() -> None:
    made = on_line(lanes(8, m, m + 3, assign("y", (v,), x(v))), context="[m] -> { : 0 <= m <= 5 }")
    for value in range(6):
        assert_runs_as_interpreted(made, m=value)


def test_lanes_of_a_step() -> None:
    made = on_line(lanes(8, m, 8, assign("y", (v,), x(v)), step=3), context="[m] -> { : m >= 0 }")
    for value in (0, 1, 2, 7, 8):
        assert_runs_as_interpreted(made, m=value)


@pytest.mark.parametrize(("lower", "upper", "step"), [(0, 8, 2), (1, 7, 2), (2, 8, 3)])
def test_lanes_of_a_step_between_literals(lower: int, upper: int, step: int) -> None:
    made = on_line(lanes(8, lower, upper, assign("y", (v,), x(v)), step=step))
    assert_runs_as_interpreted(made)


@pytest.mark.parametrize(("subscript", "intrinsic"), [(v, "load"), (9 * v, "gather")])
def test_lanes_that_are_not_active_read_nothing(subscript: Operand, intrinsic: str) -> None:
    """Inactive lanes may lie outside of the array."""
    masked = lanes(8, 0, m, assign("y", (v,), x(subscript)))
    text = emit_module(on_line(masked, context="[m] -> { : 1 <= m <= 7 }"), HOST)
    (call,) = (
        line for line in text.splitlines() if f'= call <8 x i32> @"llvm.masked.{intrinsic}' in line
    )
    (name,) = re.findall(r"<8 x i1> (%\S+),", call)
    assert re.search(rf"{re.escape(name)} = icmp slt <8 x i\d+>", text)


def test_lanes_backwards() -> None:
    """Loaded and stored forwards, turned in registers; inactive lanes lie outside of the array."""
    turned = lanes(8, 0, 8, assign("y", (20 - v,), x(9 - v)))
    text = emit_module(on_line(turned), HOST)
    assert "gather" not in text
    assert "scatter" not in text
    assert_runs_as_interpreted(on_line(turned))
    partial = lanes(8, m, 6, assign("y", (5 - v,), x(5 - v) + x(v)))
    made = on_line(partial, context="[m] -> { : 0 <= m <= 6 }")
    assert "gather" not in emit_module(made, HOST)
    for value in range(7):
        assert_runs_as_interpreted(made, m=value)


def test_one_lane_twice_under_one_name() -> None:
    first = lanes(4, m, m + 1, assign("y", (v,), x(v)))
    second = lanes(4, m - 1, m, assign("y", (v,), x(v) + 1))
    assert_runs_as_interpreted(on_line(first, second, context="[m] -> { : 1 <= m <= 3 }"), m=2)


def test_no_lane_at_all_touches_nothing() -> None:
    made = on_line(lanes(4, m, 2, assign("y", (v,), x(v))), context="[m] -> { : m >= 0 }")
    assert_runs_as_interpreted(made, m=2)
    assert_runs_as_interpreted(made, m=4)


def test_mask_of_a_condition_inside() -> None:
    inner = If(v % 3 < m, assign("y", (v,), x(v) + y(v)))
    made = on_line(lanes(8, 1, 7, If(v < 6, inner)), context="[m] -> { : m >= 0 }")
    for value in range(4):
        assert_runs_as_interpreted(made, m=value)


def test_the_one_active_lane_writes_an_element_that_all_share() -> None:
    made = on_line(
        lanes(4, 0, 4, If(v <= m, If(v >= m, assign("y", (Constant(3),), x(v) + y(3))))),
        context="[m] -> { : 0 <= m <= 3 }",
    )
    for value in range(4):
        assert_runs_as_interpreted(made, m=value)


def test_the_one_active_lane_inside_a_loop() -> None:
    update = assign("y", (Constant(3),), x(v + i) + y(3))
    made = on_line(
        loop("i", 0, 5, lanes(4, 0, 4, If(v <= m, If(v >= m, update)))),
        context="[m] -> { : 0 <= m <= 3 }",
    )
    for value in range(4):
        assert_runs_as_interpreted(made, m=value)


def test_all_lanes_into_one_element() -> None:
    made = on_line(lanes(4, 0, 4, assign("y", (Constant(3),), x(v))))
    with pytest.raises(LoweringError, match=r"statement 'S': all lanes .* write the one element"):
        emit_module(made, HOST)


def test_two_assignments_in_a_vector_loop() -> None:
    body = Block((assign("y", (v,), x(v)), assign("y", (v,), x(v))))
    with pytest.raises(LoweringError, match="vector loop 'v' holds more than one assignment"):
        emit_module(on_line(lanes(4, 0, 4, body)), HOST)


def test_reads_of_all_lanes_come_before_writes() -> None:
    made = on_line(lanes(8, 0, 8, assign("y", (v + 1,), y(v))))
    assert_runs_as_interpreted(made)


def test_loops_that_do_not_run_and_steps() -> None:
    inner = loop("i", m, 10, assign("y", (i,), x(i)), step=3)
    made = on_line(inner, context="[m] -> { : 0 <= m <= 12 }")
    for value in (0, 1, 9, 10, 12):
        assert_runs_as_interpreted(made, m=value)


def test_conditions_with_otherwise() -> None:
    body = If(i < m, assign("y", (i,), x(i)), assign("y", (i,), x(i) + 100))
    made = on_line(loop("i", 0, 10, body), context="[m] -> { : m >= 0 }")
    for value in (0, 4, 11):
        assert_runs_as_interpreted(made, m=value)


def test_addresses_of_one_branch_are_not_used_in_another() -> None:
    first = If(i < m, assign("y", (i,), x(i)))
    second = assign("y", (i + 1,), x(i + 1))
    made = on_line(loop("i", 0, 9, first, second), context="[m] -> { : m >= 0 }")
    for value in (0, 4, 11):
        assert_runs_as_interpreted(made, m=value)


def test_buffer_of_a_parametric_extent() -> None:
    arrays = [
        array("x", (32,), Role.INPUT, i32),
        array("y", (32,), Role.INOUT, i32),
        array("t", (m + 1,), Role.TEMPORARY, i32),
    ]
    fill = loop("i", 0, m, assign("t", (i,), 2 * x(i)))
    drain = loop("i", 0, m, assign("y", (i,), load("t", m - 1 - i, dtype=i32)))
    made = program(arrays, Allocate("t", Block((fill, drain))), context="[m] -> { : 0 <= m <= 30 }")
    for value in (0, 1, 17):
        assert_runs_as_interpreted(made, m=value)


def test_fused_multiply_add_is_contracted() -> None:
    text = emit_module(
        program(
            [array("x", (16,), Role.INPUT), array("y", (16,), Role.INOUT)],
            lanes(16, 0, 16, assign("y", (v,), load("y", v) + load("x", v) * load("x", v))),
            context="{ : }",
        ),
        HOST,
    )
    assert "fmul contract <16 x float>" in text
    assert "fadd contract <16 x float>" in text
    assert all(word not in text for word in ("fast", "reassoc", "nnan", "ninf", "nsz", "arcp"))


@pytest.mark.parametrize("name", ["haswell-avx2", "skylake-avx512"])
def test_a_select_of_the_stored_element_stores_whole_vectors(name: str) -> None:
    """LLVM would store only the lanes in which the element changes."""
    machine = load_machine(name)
    made = on_line(lanes(8, 0, 8, assign("y", (v,), select(y(v) < x(v), x(v) + 1, y(v)))))
    assembly = emit_assembly(emit_module(made, machine), machine)
    assert "ymm" in assembly
    assert "maskmov" not in assembly
    assert re.search(r"\) \{%k", assembly) is None
    assert_runs_as_interpreted(made)
