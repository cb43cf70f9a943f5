"""The interpreter of the vector IR: results, and facts of a program that do not hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polysched.errors import KernelError
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Operand, Parameter
from polysched.loops.ir.nodes import For, If
from polysched.vector.interpret import interpreter
from polysched.vector.ir import Assign, Loop, Store
from polysched.vector.values import Lanes, Load, Only, Range, Sum
from tests.loops.programs import assign, loop
from tests.support.differential import assert_equal
from tests.support.interpreting import interpret
from tests.vector.programs import after_passes, lanes, on_line, only_assign, v, vectorized, x

m = Parameter("m")
CONTEXT = "[m] -> { : 0 <= m <= 8 }"


def given() -> dict[str, np.ndarray]:
    random = np.random.default_rng(5)
    return {name: random.integers(0, 60, 64).astype(np.int32) for name in "xy"}


@pytest.mark.parametrize(
    "node",
    [
        lanes(0, 8, assign("y", (v + 3,), x(9 - v) + x(3))),
        lanes(0, m, assign("y", (7 - v,), x(v) + x(v + 1) + x(3 * v))),
        lanes(1, m, assign("y", (2 * v,), x(v // 2)), step=2),
        lanes(0, 8, If(v % 3 < m, assign("y", (v,), x(v) * 3))),
        lanes(0, 8, assign("y", (v + 1,), x(v) - x(v + 1))),
    ],
)
def test_same_results_as_the_loops(node: For) -> None:
    for value in range(9):
        parameters = {"m": value}
        expected = interpret(on_line(node, context=CONTEXT), given(), parameters)
        for made in (vectorized(node, context=CONTEXT), after_passes(node, context=CONTEXT)):
            assert_equal(interpreter(made)(given(), parameters), expected, str(value))


COPY = vectorized(lanes(0, 8, assign("y", (v,), x(v))))


def run(node: Assign) -> None:
    interpreter(replace(COPY, body=node))(given(), {})


def moved(node: Assign, place: int, *, alignment: int = 4, private: bool = False) -> Assign:
    assert isinstance(node.value, Load)
    address = replace(node.value.access.address, constant=place)
    access = replace(node.value.access, address=address, alignment=alignment, is_private=private)
    return replace(node, value=Load(access, i32))


def test_accesses_outside() -> None:
    copy = only_assign(COPY)
    run(moved(copy, 56))
    with pytest.raises(KernelError, match="array 'x' has no element at distance 64"):
        run(moved(copy, 57))
    run(replace(moved(copy, 57), lanes=Lanes(8, Only((0, 6)))))


def test_facts_that_do_not_hold() -> None:
    copy = only_assign(COPY)
    with pytest.raises(KernelError, match="is not aligned to 8 bytes"):
        run(moved(copy, 1, alignment=8))
    with pytest.raises(KernelError, match="and its lanes are not inside the array"):
        run(replace(moved(copy, 60, private=True), lanes=Lanes(8, Only((0,)))))
    none = Lanes(8, Range(None, Sum(()), 1))
    with pytest.raises(KernelError, match=r"statement 'S': no lane runs at \{\}"):
        run(replace(copy, lanes=none))
    run(replace(copy, lanes=replace(none, some=False)))


def test_a_loop_that_does_not_run() -> None:
    made = vectorized(loop("i", 0, 4, assign("y", (0,), x(0))))
    assert isinstance(made.body, Loop)
    wrong = replace(made, body=replace(made.body, lower=Sum((), 4)))
    with pytest.raises(KernelError, match=r"loop 'i' has no iteration"):
        interpreter(wrong)(given(), {})


@pytest.mark.parametrize("place", [v, 2 * v, 8 - v])
def test_inputs_are_not_changed(place: Operand) -> None:
    made = vectorized(lanes(0, 8, assign("y", (place,), x(v) + 1)))
    assert isinstance(only_assign(made).target, Store)
    before = given()
    result = interpreter(made)(before, {})
    assert_equal(before, given(), "arguments")
    assert not np.array_equal(result["y"], before["y"])
