from collections import Counter

import numpy as np
import pytest

from polysched.errors import CallError, KernelError, LoweringError
from polysched.ir.core.kernel import Role
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.dtypes import f32, i32
from polysched.ir.expr.expressions import Constant
from polysched.loops.interpret.interpreter import interpreter
from polysched.loops.ir.nodes import Allocate, Block, If
from tests.loops.programs import array, assign, i, j, load, loop, matmul_relu, n, program, vector
from tests.support.interpreting import interpret


@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_matmul_runs_every_instance_once(size: int) -> None:
    random = np.random.default_rng(3)
    a = random.random((size, size), np.float32) - np.float32(0.5)
    b = random.random((size, 8), np.float32)
    seen: Counter[tuple[str, tuple[int, ...]]] = Counter()
    result = interpret(
        matmul_relu(),
        {"a": a, "b": b},
        {"n": size},
        lambda statement, instance: seen.update([(statement, instance)]),
    )
    np.testing.assert_allclose(result["c"], np.maximum(0, a @ b), rtol=1e-5, atol=1e-6)
    rows, lanes = range(size), range(8)
    expected = {(name, (r, lane)) for name in ("init", "relu") for r in rows for lane in lanes}
    expected |= {("product", (r, lane, k)) for r in rows for lane in lanes for k in rows}
    assert set(seen) == expected
    assert set(seen.values()) <= {1}


def shift_in_place(kind: LoopKind) -> list[int]:
    x = array("x", (9,), Role.INOUT, i32)
    body = assign("x", (i + 1,), load("x", i, dtype=i32))
    shifted = program([x], loop("i", 0, 8, body, kind=kind))
    given = {"x": np.arange(9, dtype=np.int32)}
    return list(interpret(shifted, given, {"n": 0})["x"].tolist())


def test_lanes_read_before_any_writes() -> None:
    assert shift_in_place(LoopKind.VECTOR) == [0, 0, 1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("kind", [LoopKind.SEQUENTIAL, LoopKind.UNROLLED])
def test_iterations_of_other_loops_see_each_other(kind: LoopKind) -> None:
    assert shift_in_place(kind) == [0] * 9


def test_statements_of_a_vector_loop_run_one_after_the_other() -> None:
    x, y = array("x", (4,), Role.INOUT, i32), array("y", (4,), Role.OUTPUT, i32)
    first = assign("x", (i,), load("x", i, dtype=i32) + 10, "first")
    second = assign("y", (i,), load("x", 3 - i, dtype=i32), "second")
    order: list[tuple[str, tuple[int, ...]]] = []
    result = interpret(
        program([x, y], vector("i", 0, 4, first, second)),
        {"x": np.arange(4, dtype=np.int32)},
        {"n": 0},
        lambda statement, instance: order.append((statement, instance)),
    )
    assert result["y"].tolist() == [13, 12, 11, 10]
    assert [statement for statement, _ in order] == ["first"] * 4 + ["second"] * 4


def test_masked_lanes_do_nothing() -> None:
    y = array("y", (8,), Role.OUTPUT)
    masked = If(i < n, assign("y", (i,), Constant(1.0, f32)), assign("y", (i,), Constant(2.0, f32)))
    result = interpret(program([y], vector("i", 0, 8, masked)), {}, {"n": 3})
    assert result["y"].tolist() == [1, 1, 1, 2, 2, 2, 2, 2]


def test_steps_bounds_and_conditions() -> None:
    y = array("y", (10,), Role.OUTPUT, i32)
    one, two = Constant(1, i32), Constant(2, i32)
    body = If(i < 6, assign("y", (i,), one), assign("y", (i,), two))
    given = {"y": np.zeros(10, np.int32)}
    result = interpret(program([y], loop("i", n - 1, 10, body, step=3)), given, {"n": 1})
    assert result["y"].tolist() == [1, 0, 0, 1, 0, 0, 2, 0, 0, 2]


def test_a_buffer_is_undefined_at_every_entry() -> None:
    buffer, y = array("b", (1,), Role.TEMPORARY), array("y", (2,), Role.OUTPUT)
    write = If(i < 1, assign("b", (0,), Constant(5.0, f32)))
    read = assign("y", (i,), load("b", 0))
    made = program([buffer, y], loop("i", 0, 2, Allocate("b", Block((write, read)))))
    result = interpret(made, {}, {"n": 0})["y"]
    assert result[0] == 5
    assert np.isnan(result[1])


def test_a_temporary_lasts_over_the_whole_run() -> None:
    t, y = array("t", (1,), Role.TEMPORARY), array("y", (2,), Role.OUTPUT)
    write = If(i < 1, assign("t", (0,), Constant(5.0, f32)))
    made = program([t, y], loop("i", 0, 2, write, assign("y", (i,), load("t", 0))))
    assert interpret(made, {}, {"n": 0})["y"].tolist() == [5, 5]


@pytest.mark.parametrize("kind", [LoopKind.SEQUENTIAL, LoopKind.VECTOR])
def test_reads_outside_name_statement_and_instance(kind: LoopKind) -> None:
    x, y = array("x", (n,), Role.INPUT), array("y", (n,), Role.OUTPUT)
    body = assign("y", (i,), load("x", i - 1), "move", (i, 7))
    with pytest.raises(
        KernelError, match=r"statement 'move' at \(0, 7\): x\[-1\] is outside array 'x' of shape"
    ):
        interpret(
            program([x, y], loop("i", 0, n, body, kind=kind)),
            {"x": np.zeros(3, np.float32)},
            {"n": 3},
        )


def test_writes_outside_name_statement_and_instance() -> None:
    y = array("y", (n,), Role.OUTPUT)
    body = assign("y", (i + 1,), Constant(0.0, f32), "S", (i,))
    with pytest.raises(KernelError, match=r"statement 'S' at \(2\): y\[3\] is outside array 'y'"):
        interpret(program([y], loop("i", 0, n, body)), {}, {"n": 3})


def test_a_buffer_outside_its_lifetime() -> None:
    buffer, y = array("b", (1,), Role.TEMPORARY), array("y", (1,), Role.OUTPUT)
    inside = Allocate("b", assign("b", (0,), Constant(5.0, f32)))
    made = program([buffer, y], inside, assign("y", (0,), load("b", 0)))
    with pytest.raises(KernelError, match=r"b\[0\] is used outside the lifetime of array 'b'"):
        interpret(made, {}, {"n": 0})


def test_a_step_below_one() -> None:
    y = array("y", (1,), Role.OUTPUT)
    made = program([y], loop("i", 0, 1, assign("y", (i,), Constant(0.0, f32)), step=0))
    with pytest.raises(LoweringError, match="loop 'i' has step 0; expected at least 1"):
        interpret(made, {}, {"n": 0})


def test_arguments_are_checked_and_not_changed() -> None:
    x = array("x", (n,), Role.INOUT)
    made = program([x], loop("i", 0, n, assign("x", (i,), Constant(0.0, f32))))
    given = np.ones(3, np.float32)
    assert interpret(made, {"x": given}, {"n": 3})["x"].tolist() == [0, 0, 0]
    assert given.tolist() == [1, 1, 1]
    with pytest.raises(CallError, match=r"array 'x': expected f32 of shape \(4,\)"):
        interpret(made, {"x": given}, {"n": 4})
    with pytest.raises(CallError, match="n = -1 violates n >= 0"):
        interpret(made, {"x": given}, {"n": -1})


def test_a_program_is_run_again() -> None:
    y = array("y", (4,), Role.OUTPUT)
    run = interpreter(program([y], loop("i", 0, n, assign("y", (i,), Constant(1.0, f32)))))
    for size in (4, 2, 0):
        written = run({"y": np.zeros(4, np.float32)}, {"n": size})["y"]
        assert written.tolist() == [1] * size + [0] * (4 - size)
        with pytest.raises(KernelError, match="outside array 'y'"):
            run({}, {"n": 5})


def test_a_loop_variable_ends_with_its_loop() -> None:
    y = array("y", (4,), Role.OUTPUT)
    store = assign("y", (j,), Constant(0.0, f32))
    with pytest.raises(KeyError, match="j"):
        interpret(program([y], loop("j", 0, 4, store), store), {}, {"n": 0})
