"""Every operation on every type: scalars, vectors and partial vectors against the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import (
    ALL_DTYPES,
    FLOAT_DTYPES,
    INTEGER_DTYPES,
    DType,
    boolean,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u64,
)
from polysched.ir.expr.expressions import Expression, operation
from polysched.ir.expr.functions import (
    absolute,
    cast,
    equal,
    exp,
    fma,
    maximum,
    minimum,
    not_equal,
    select,
    sqrt,
)
from polysched.ir.expr.operators import LIBRARY_BINARY, LIBRARY_UNARY, Operator
from polysched.ir.semantics.memory import AnyArray
from polysched.lower import show
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees

NUMBERS = FLOAT_DTYPES + INTEGER_DTYPES
LENGTH = 37


Operate = Callable[[Expression, Expression], Expression]


def binary(*operations: Operate, operands: DType, results: Sequence[DType] = ()) -> Kernel:
    """A statement with an output of its own for each operation: one kernel compiles them all."""
    build = KernelBuilder("binary")
    x, y = build.input("x", operands, (LENGTH,)), build.input("y", operands, (LENGTH,))
    types = results or [operands] * len(operations)
    outputs = [build.output(f"z{k}", dtype, (LENGTH,)) for k, dtype in enumerate(types)]
    with build.loops(i=LENGTH) as i:
        for z, operate in zip(outputs, operations, strict=True):
            z[i] = operate(x[i], y[i])
    return build.kernel()


def special_values(dtype: DType, length: int = LENGTH) -> AnyArray:
    """Small numbers with the limits of the type, or infinities, NaN and zeros of both signs."""
    generator = np.random.default_rng(7)
    kind: np.dtype[Any] = dtype.numpy()
    if dtype.bits == 1:
        return generator.integers(0, 2, length).astype(np.bool_)
    if dtype.is_float:
        pool = [0.0, -0.0, 1.5, -2.25, 7.0, np.inf, -np.inf, np.nan, 1e9, -3e19, 127.6, 3e38, -0.5]
        with np.errstate(over="ignore"):
            return generator.choice(pool, length).astype(kind)
    limits = np.iinfo(kind)
    pool = [limits.min, limits.min + 1, limits.max, 0, 1, 2, 5, 7, 100]
    if dtype.is_signed:
        pool += [-1, -2, -7]
    return np.array([pool[index] for index in generator.integers(0, len(pool), length)], kind)


def assert_all_forms_agree(kernel: Kernel, dtype: DType, rounding: float = 0.0) -> None:
    """As scalars, as vectors with a partial last one, and as one-lane vectors."""
    given = {
        name: special_values(dtype)[:: 1 if name == "x" else -1].copy()
        for name, array in kernel.arrays.items()
        if array.role.value == "input"
    }
    for schedule in (Schedule(kernel), Schedule(kernel).vectorize("i", 8)):
        assert_agrees(schedule, given=given, rounding=rounding)


@pytest.mark.parametrize("dtype", INTEGER_DTYPES, ids=str)
def test_division_of_integers_that_truncates(dtype: DType) -> None:
    kernel = binary(
        lambda x, y: operation(Operator.QUOTIENT, x, y),
        lambda x, y: operation(Operator.QUOTIENT, x, 7),
        lambda x, y: operation(Operator.REMAINDER, x, y),
        lambda x, y: operation(Operator.REMAINDER, x, 7),
        operands=dtype,
    )
    assert_all_forms_agree(kernel, dtype)


@pytest.mark.parametrize("dtype", INTEGER_DTYPES, ids=str)
def test_bits(dtype: DType) -> None:
    def mixed(x: Expression, y: Expression) -> Expression:
        return (((x & y) ^ (x | 5)) + (x << y)) ^ (~y >> x) ^ (y >> 3)

    assert_all_forms_agree(binary(mixed, operands=dtype), dtype)


ROUNDING = (Operator.FLOOR, Operator.CEILING, Operator.TRUNCATE, Operator.ROUND_HALF_AWAY)
UNARY_FUNCTIONS = (*ROUNDING, *LIBRARY_UNARY)
BINARY_FUNCTIONS = (
    Operator.NUMBER_MINIMUM,
    Operator.NUMBER_MAXIMUM,
    Operator.PSEUDO_MINIMUM,
    Operator.PSEUDO_MAXIMUM,
    *LIBRARY_BINARY,
)


@pytest.mark.parametrize("dtype", FLOAT_DTYPES, ids=str)
def test_functions_of_the_c_library(dtype: DType) -> None:
    """Several functions in one kernel; each on its own statement and output."""
    build = KernelBuilder("library")
    x, y = build.input("x", dtype, (LENGTH,)), build.input("y", dtype, (LENGTH,))
    for operator in sorted(UNARY_FUNCTIONS + BINARY_FUNCTIONS, key=str):
        z = build.output(f"{operator.value}_of", dtype, (LENGTH,))
        with build.loops(i=LENGTH) as i:
            operands = (x[i],) if operator in UNARY_FUNCTIONS else (x[i], y[i])
            z[i] = operation(operator, *operands)
    kernel = build.kernel()
    given = {"x": special_values(dtype), "y": special_values(dtype)[::-1].copy()}
    for fp_contract, rounding in ((False, 0), (True, 3e-7 if dtype is f32 else 1e-15)):
        scalars = Schedule(replace(kernel, fp_contract=fp_contract))
        vectors = scalars
        for operator in (Operator.POWER, Operator.SINE, Operator.PSEUDO_MAXIMUM, Operator.FLOOR):
            vectors = vectors.vectorize(f"{operator.value}_of.i", 8)
        for schedule in (scalars, vectors):
            assert_agrees(schedule, given=given, rounding=rounding)


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_arithmetic(dtype: DType) -> None:
    kernel = binary(
        lambda x, y: x + y,
        lambda x, y: x - y,
        lambda x, y: x * y,
        lambda x, y: -x - y,
        minimum,
        maximum,
        lambda x, y: absolute(x),
        lambda x, y: select(x < y, x + 1, select(equal(x, y), 0, y)),
        operands=dtype,
    )
    assert_all_forms_agree(kernel, dtype)


@pytest.mark.parametrize("dtype", INTEGER_DTYPES, ids=str)
def test_division_of_integers_by_anything(dtype: DType) -> None:
    kernel = binary(lambda x, y: x // y, lambda x, y: x % y, operands=dtype)
    assert_all_forms_agree(kernel, dtype)


@pytest.mark.parametrize("dtype", INTEGER_DTYPES, ids=str)
def test_division_by_a_literal(dtype: DType) -> None:
    kernel = binary(
        lambda x, y: x // 1 + y % 1,
        lambda x, y: x // 3 + y % 3,
        lambda x, y: x // 8 + y % 8,
        operands=dtype,
    )
    assert_all_forms_agree(kernel, dtype)


@pytest.mark.parametrize("lanes", [1, 8])
def test_division_by_a_power_of_two_is_a_shift(lanes: int) -> None:
    kernel = binary(lambda x, y: x // 8 + y % 4, operands=i32)
    schedule = Schedule(kernel).vectorize("i", lanes)
    text = show(schedule, "llvm", "skylake-avx512")
    assert "ashr" in text
    assert "sdiv" not in text


@pytest.mark.parametrize("dtype", [i8, i32, i64], ids=str)
def test_division_by_a_negative_literal(dtype: DType) -> None:
    kernel = binary(lambda x, y: x // -3 + y % -1, operands=dtype)
    assert_all_forms_agree(kernel, dtype)


@pytest.mark.parametrize("dtype", FLOAT_DTYPES, ids=str)
def test_operations_of_floats(dtype: DType) -> None:
    kernel = binary(
        lambda x, y: x / y,
        lambda x, y: sqrt(absolute(x)) - y,
        lambda x, y: fma(x, y, x),
        operands=dtype,
    )
    assert_all_forms_agree(kernel, dtype)


@pytest.mark.parametrize(("dtype", "rounding"), [(f32, 3e-7), (f64, 1e-15)], ids=str)
def test_exponential(dtype: DType, rounding: float) -> None:
    kernel = binary(lambda x, y: exp(minimum(x, y)), operands=dtype)
    assert_all_forms_agree(kernel, dtype, rounding)


COMPARISONS: tuple[Operate, ...] = (
    lambda x, y: x < y,
    lambda x, y: x <= y,
    lambda x, y: x > y,
    lambda x, y: x >= y,
    equal,
    not_equal,
    lambda x, y: (x < y) & ~equal(x, 0) | equal(y, 1),
)


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_comparisons_stored_as_booleans(dtype: DType) -> None:
    kernel = binary(*COMPARISONS, operands=dtype, results=[boolean] * len(COMPARISONS))
    assert_all_forms_agree(kernel, dtype)


@pytest.mark.parametrize("source", ALL_DTYPES, ids=str)
def test_casts(source: DType) -> None:
    casts: list[Operate] = [lambda x, y, target=target: cast(x, target) for target in ALL_DTYPES]  # type: ignore[misc]
    kernel = binary(*casts, operands=source, results=ALL_DTYPES)
    assert_all_forms_agree(kernel, source)


def test_logic_of_boolean_arrays() -> None:
    kernel = binary(lambda x, y: (x & ~y) | (y & ~x), operands=boolean)
    assert_all_forms_agree(kernel, boolean)


@pytest.mark.parametrize("dtype", [f32, i8, i16, u8, i64, u64], ids=str)
def test_index_values_and_parameters_as_data(dtype: DType) -> None:
    build = KernelBuilder("indices")
    n = build.parameter("n", minimum=0)
    y = build.output("y", dtype, (n, n))
    with build.loops(i=n, j=n) as (i, j), build.statement("S"):
        y[i, j] = cast(i * j - 3 * (j // 4) + n, dtype)
    schedule = Schedule(build.kernel())
    for scheduled in (schedule, schedule.vectorize("j", 8), schedule.vectorize("i", 4)):
        assert_agrees(scheduled, {"n": 0}, {"n": 1}, {"n": 11})


def test_contraction_is_the_only_freedom() -> None:
    """``x * y + z`` may round once or twice, and nothing else may differ."""
    build = KernelBuilder("contraction")
    x, y = build.input("x", f32, (64,)), build.input("y", f32, (64,))
    z = build.output("z", f32, (64,))
    with build.loops(i=64) as i:
        z[i] = x[i] * y[i] + y[i]
    generator = np.random.default_rng(1)
    given = {name: generator.random(64, np.float32) for name in "xy"}
    assert_agrees(Schedule(build.kernel()).vectorize("i", 16), given=given, rounding=2e-7)
