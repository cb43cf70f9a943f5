import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polysched.ir.core.kernel import Role
from polysched.ir.expr.dtypes import DType, boolean, f32, f64, i8, i32, i64, u32, u64
from polysched.ir.expr.expressions import Constant, Expression, Number, operation
from polysched.ir.expr.functions import cast, exp, select
from polysched.ir.expr.operators import Operator
from polysched.loops.printers.c_expressions import CExpressions, c_constant, flat_index
from tests.loops.compiling import run_c
from tests.loops.programs import array, assign, i, j, load, loop, n, program
from tests.support.expression_strategies import expressions
from tests.support.interpreting import interpret

NAMES = {name: name for name in "ijn"}
C = CExpressions({"x": array("x", (n, 8), Role.INPUT)}, {"x": "x"}, NAMES)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (0.1, f32, "0.1f"),
        (0.1, f64, "0.1"),
        (2.0, f32, "2.0f"),
        (1e30, f32, "1e+30f"),
        (-0.0, f64, "-0.0"),
        (math.inf, f32, "INFINITY"),
        (-math.inf, f32, "-INFINITY"),
        (1e300, f32, "INFINITY"),
        (math.nan, f64, "NAN"),
        (-5, i32, "-5"),
        (-(2**31), i32, "INT32_MIN"),
        (-128, i8, "INT8_MIN"),
        (300, i8, "44"),
        (2**40, i64, "INT64_C(1099511627776)"),
        (-(2**40), i64, "-INT64_C(1099511627776)"),
        (-(2**63), i64, "INT64_MIN"),
        (7, u32, "7u"),
        (2**64 - 1, u64, "UINT64_C(18446744073709551615)"),
        (True, boolean, "true"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_c_constant(value: Number, dtype: DType, expected: str) -> None:
    assert c_constant(value, dtype) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (2 * (i + j) - n, "2*(i + j) - n"),
        (i - (j - n), "i - (j - n)"),
        ((i + 1) % 4, "modulo_i64(i + 1, 4)"),
        (Constant(65536) * 65536 + i, "INT64_C(4294967296) + i"),
        (-Constant(-3, i64) * i, "3*i"),
        (operation(Operator.NEGATE, -i), "-(-i)"),
        (Constant(7) // 0 + i, "0 + i"),
        ((i < n) & (j < n) | (i <= j), "(i < n && j < n) || i <= j"),
        (~((i < n) & (j < n)), "!(i < n && j < n)"),
        (select(i < n, i, j), "(i < n ? i : j)"),
        (load("x", i, j + 1) * 2, "x[i*8 + (j + 1)]*2.0f"),
        (exp(load("x", 0, 0)), "expf(x[0])"),
        (exp(cast(i + j, f64)), "exp((double)(i + j))"),
        (load("x", i, j, dtype=i32) + 1, "add_i32(x[i*8 + j], 1)"),
    ],
)
def test_text(expression: Expression, expected: str) -> None:
    assert C.text(expression) == expected


def test_flat_index_is_row_major() -> None:
    assert str(flat_index((i, j), (n, n + 2))) == "((i * (n + 2)) + j)"
    assert flat_index((), ()) == Constant(0)


@pytest.mark.parametrize("dtype", [i32, i64, u64, f32], ids=str)
@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_expressions_compute_what_exact_evaluation_does(
    dtype: DType, tmp_path: Path, data: st.DataObject
) -> None:
    drawn: list[Expression] = data.draw(st.lists(expressions(dtype), min_size=20, max_size=20))
    count = 16
    outputs = [array(f"out{x}", (count,), Role.OUTPUT, dtype) for x in range(len(drawn))]
    inputs = [array(name, (count,), Role.INPUT, dtype) for name in "xy"]
    stores = [assign(o.name, (i,), e) for o, e in zip(outputs, drawn, strict=True)]
    made = program([*inputs, *outputs], loop("i", 0, count, *stores))
    random = np.random.default_rng(data.draw(st.integers(0, 1000)))
    given_arrays = {name: random.integers(0, 100, count).astype(dtype.numpy()) for name in "xy"}
    expected = interpret(made, given_arrays, {"n": 7})
    # A library once loaded stays: every example needs a file of its own.
    folder = tmp_path / str(len(list(tmp_path.iterdir())))
    folder.mkdir()
    actual = run_c(made, given_arrays, {"n": 7}, folder)
    for output, expression in zip(outputs, drawn, strict=True):
        np.testing.assert_array_equal(actual[output.name], expected[output.name], str(expression))
