"""Every operation on every type, on the values at the edges: C against exact evaluation."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from polysched.ir.core.kernel import Role
from polysched.ir.expr.dtypes import (
    ALL_DTYPES,
    DType,
    boolean,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u32,
    u64,
)
from polysched.ir.expr.expressions import Cast, Expression, Index, Parameter, operation
from polysched.ir.expr.functions import select
from polysched.ir.expr.operators import (
    BITWISE,
    COMPARISONS,
    FLOAT_ONLY,
    INTEGER_ONLY,
    SHIFTS,
    Operator,
)
from polysched.ir.semantics.memory import AnyArray
from polysched.loops.printers.c import print_c
from polysched.loops.printers.c_helpers import Helper, c_type, helper_for, is_index_arithmetic
from tests.loops.compiling import run_c
from tests.loops.programs import array, assign, i, load, loop, n, program
from tests.support.interpreting import interpret

UNARY = (
    Operator.NEGATE,
    Operator.ABSOLUTE,
    Operator.RECIPROCAL,
    Operator.RECIPROCAL_SQUARE_ROOT,
    Operator.SQUARE_ROOT,
    Operator.FLOOR,
    Operator.CEILING,
    Operator.TRUNCATE,
    Operator.ROUND_HALF_AWAY,
    Operator.BIT_NOT,
)
BINARY = (
    Operator.ADD,
    Operator.SUBTRACT,
    Operator.MULTIPLY,
    Operator.DIVIDE,
    Operator.FLOOR_DIVIDE,
    Operator.MODULO,
    Operator.MINIMUM,
    Operator.MAXIMUM,
    Operator.QUOTIENT,
    Operator.REMAINDER,
    Operator.NUMBER_MINIMUM,
    Operator.NUMBER_MAXIMUM,
    Operator.PSEUDO_MINIMUM,
    Operator.PSEUDO_MAXIMUM,
    *sorted(BITWISE | SHIFTS, key=lambda operator: operator.value),
    *sorted(COMPARISONS, key=lambda operator: operator.value),
)


def edge_values(dtype: DType) -> AnyArray:
    """Values at which an operation could go wrong: shape (count,)."""
    if dtype.is_float:
        limits = np.finfo(dtype.numpy())
        numbers = [0.0, 1.0, 0.1, 2.5, 127.5, 3e9, 1e19, limits.max, limits.tiny, np.inf, np.nan]
        return np.array([*numbers, *[-number for number in numbers]], dtype.numpy())
    if not dtype.is_integer:
        return np.array([False, True])
    limits = np.iinfo(dtype.numpy())
    signed = [-1, -2, -7] if dtype.is_signed else []
    numbers = [limits.min, limits.min + 1, limits.max - 1, limits.max, 0, 1, 2, 3, 100, *signed]
    return np.array(numbers, dtype.numpy())


def operations(dtype: DType) -> list[Expression]:
    x, y = load("x", i, dtype=dtype), load("y", i, dtype=dtype)
    if dtype == boolean:
        return [x & y, x | y, ~x, (x & y) | ~(x | y), select(x, y, ~y)]
    excluded = INTEGER_ONLY if dtype.is_float else FLOAT_ONLY
    result = [operation(operator, x) for operator in UNARY if operator not in excluded]
    result += [operation(operator, x, y) for operator in BINARY if operator not in excluded]
    result.append(select(x < y, x, -y))
    if dtype.is_float:
        result.append(operation(Operator.FMA, x, y, x))
        result.append(operation(Operator.FMA, x, y, -x * y))
    return result


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_c_computes_what_exact_evaluation_does(dtype: DType, tmp_path: Path) -> None:
    values = edge_values(dtype)
    pairs = np.array(list(itertools.product(values, values)), dtype.numpy())
    x, y = load("x", i, dtype=dtype), load("y", i, dtype=dtype)
    expressions = [
        *operations(dtype),
        *[Cast(x, target) for target in ALL_DTYPES if target != dtype],
        *([] if dtype == boolean else [operation(Operator.MULTIPLY, x, y + x)]),
    ]
    outputs = [
        array(f"out{number}", (n,), Role.OUTPUT, expression.dtype or dtype)
        for number, expression in enumerate(expressions)
    ]
    inputs = [array(name, (n,), Role.INPUT, dtype) for name in ("x", "y")]
    stores = [
        assign(output.name, (i,), expression)
        for output, expression in zip(outputs, expressions, strict=True)
    ]
    everything = program([*inputs, *outputs], loop("i", 0, n, *stores))
    given = {"x": pairs[:, 0].copy(), "y": pairs[:, 1].copy()}
    expected = interpret(everything, given, {"n": len(pairs)})
    actual = run_c(everything, given, {"n": len(pairs)}, tmp_path)
    for output, expression in zip(outputs, expressions, strict=True):
        message = f"{expression} on {dtype}"
        np.testing.assert_array_equal(actual[output.name], expected[output.name], message)
        if output.dtype.is_float:  # -0 equals 0; the sign of NaN means nothing
            known = ~np.isnan(expected[output.name])
            signs = [np.signbit(found[output.name][known]) for found in (actual, expected)]
            np.testing.assert_array_equal(*signs, message)


@pytest.mark.parametrize("dtype", [i32, i64], ids=str)
@pytest.mark.parametrize(
    "operator",
    [Operator.FLOOR_DIVIDE, Operator.MODULO, Operator.QUOTIENT, Operator.REMAINDER],
)
def test_no_division_traps(operator: Operator, dtype: DType, tmp_path: Path) -> None:
    # Each by itself: beside others the compiler knows more, and leaves out what would trap.
    given = {
        "x": np.array([np.iinfo(dtype.numpy()).min, 5, -7], dtype.numpy()),
        "y": np.array([-1, 0, 2], dtype.numpy()),
    }
    x, y = load("x", i, dtype=dtype), load("y", i, dtype=dtype)
    arrays = [array(name, (n,), Role.INPUT, dtype) for name in ("x", "y")]
    divided = program(
        [*arrays, array("z", (n,), Role.OUTPUT, dtype)],
        loop("i", 0, n, assign("z", (i,), operation(operator, x, y))),
    )
    expected = interpret(divided, given, {"n": 3})
    actual = run_c(divided, given, {"n": 3}, tmp_path)
    np.testing.assert_array_equal(actual["z"], expected["z"])


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(f32, "float"), (f64, "double"), (i8, "int8_t"), (u64, "uint64_t"), (boolean, "bool")],
    ids=str,
)
def test_c_type_has_the_layout(dtype: DType, expected: str) -> None:
    assert c_type(dtype) == expected


def test_helper_names() -> None:
    assert Helper(Operator.FLOOR_DIVIDE, i64).name == "floor_divide_i64"
    assert Helper(None, i16, f32).name == "f32_to_i16"


def test_c_has_index_arithmetic_and_modular_unsigned_arithmetic_itself() -> None:
    x = load("x", i, dtype=i32)
    assert helper_for(x + 1) == Helper(Operator.ADD, i32)
    assert helper_for(Index("i") + Parameter("n")) is None
    assert helper_for(load("x", i, dtype=u32) * 3) is None
    assert helper_for(load("x", i, dtype=u8) * 3) == Helper(Operator.MULTIPLY, u8)
    assert helper_for(load("x", i) * 3) is None
    assert helper_for(i // 4) == Helper(Operator.FLOOR_DIVIDE, i64)


def test_values_of_any_parameter_wrap_around() -> None:
    """A parameter that only values use may be any number, which C's own sums do not take."""
    assert helper_for(n + 1, in_value=True) == Helper(Operator.ADD, i64)
    assert helper_for(i * i, in_value=True) == Helper(Operator.MULTIPLY, i64)
    assert helper_for(i + 2**17, in_value=True) == Helper(Operator.ADD, i64)
    assert helper_for(8 * i + 3, in_value=True) is None
    assert helper_for(i * i) is None


def test_values_are_printed_so() -> None:
    out = array("out", (n,), Role.OUTPUT, i64)
    text = print_c(program([out], loop("i", 0, n, assign("out", (i + n - n,), (2 * i + 1) * n))))
    assert "out[i + n - n] = multiply_i64(2*i + 1, n);" in text


def test_a_loaded_i64_is_not_index_arithmetic() -> None:
    assert is_index_arithmetic(2 * i + n)
    assert not is_index_arithmetic(load("x", i, dtype=i64) + 1)
