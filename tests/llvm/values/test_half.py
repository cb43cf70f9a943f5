"""Conversions from and to half types: every value, every tie, NaN, on processors with and without
F16C, in C and in the interpreters."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import (
    ALL_DTYPES,
    HALF_DTYPES,
    INTEGER_DTYPES,
    DType,
    bf16,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    u8,
)
from polysched.ir.expr.expressions import Expression
from polysched.ir.expr.functions import cast, fma, maximum, minimum, select, sqrt
from polysched.ir.expr.saturation import saturate
from polysched.ir.semantics.half import half_bits
from polysched.ir.semantics.memory import AnyArray
from polysched.ir.semantics.reference import run_reference
from polysched.lower import compile, lower, show
from polysched.schedule.schedule import Schedule
from tests.llvm.values.test_expressions import LENGTH, assert_all_forms_agree, binary
from tests.loops.compiling import run_c
from tests.support.c_programs import assert_program_agrees
from tests.support.differential import NO_CACHE
from tests.support.runnable import runnable

ALL_BITS = np.arange(1 << 16, dtype=np.uint16)
MACHINES = ("host", "haswell-avx2", "generic")
LANES = (0, 8, 32)


def conversion(source: DType, target: DType) -> Kernel:
    build = KernelBuilder("convert")
    n = build.parameter("n")
    x, y = build.input("x", source, (n,)), build.output("y", target, (n,))
    with build.loops(i=n) as i:
        y[i] = cast(x[i], target)
    return build.kernel()


def converted(
    values: AnyArray, source: DType, target: DType, lanes: int = 8, machine: str = "host"
) -> AnyArray:
    schedule = Schedule(conversion(source, target))
    if lanes:
        schedule = schedule.vectorize("i", lanes)
    result = np.empty(values.shape, target.numpy())
    compile(schedule, runnable(machine), cache=NO_CACHE)(x=values, y=result)
    return result


def assert_same_bits(got: AnyArray, expected: AnyArray) -> None:
    """Equal bits, but for NaN, which has many."""
    is_nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(got), is_nan)
    word = f"u{got.itemsize}"
    np.testing.assert_array_equal(got.view(word)[~is_nan], expected.view(word)[~is_nan])


def widened(values: AnyArray, dtype: DType) -> AnyArray:
    with np.errstate(invalid="ignore"):  # raised by signaling NaN
        result: AnyArray = values.astype(dtype.numpy())
    return result


def ties(dtype: DType) -> AnyArray:
    """The numbers halfway between neighbors, and the numbers of f32 beside them."""
    values = widened(ALL_BITS.view(dtype.numpy()), f64)
    values = np.unique(values[np.isfinite(values)])
    middle = np.append((values[1:] + values[:-1]) / 2, [values[-1] * (1 + 2.0**-9)])
    exact = middle.astype(np.float32)
    assert (exact == middle).mean() > 0.99
    return np.concatenate(
        [exact, np.nextafter(exact, np.float32(np.inf)), np.nextafter(exact, np.float32(-np.inf))]
    )


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dtype", HALF_DTYPES, ids=str)
def test_every_value_is_widened_exactly(dtype: DType, machine: str) -> None:
    values = ALL_BITS.view(dtype.numpy())
    for lanes in LANES:
        assert_same_bits(converted(values, dtype, f32, lanes, machine), widened(values, f32))
    assert_same_bits(converted(values, dtype, f64, 8, machine), widened(values, f64))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dtype", HALF_DTYPES, ids=str)
def test_f32_is_rounded_to_nearest_even(dtype: DType, machine: str) -> None:
    every = widened(ALL_BITS.view(dtype.numpy()), f32)
    generator = np.random.default_rng(3)
    anything = generator.integers(0, 2**32, 1 << 18, dtype=np.uint32).view(np.float32)
    values = np.concatenate([every, ties(dtype), anything, [np.float32(1e-45), np.float32(3e38)]])
    with np.errstate(over="ignore", invalid="ignore"):
        expected = values.astype(dtype.numpy())
    for lanes in LANES:
        assert_same_bits(converted(values, f32, dtype, lanes, machine), expected)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dtype", HALF_DTYPES, ids=str)
def test_f64_is_rounded_once(dtype: DType, machine: str) -> None:
    """Numbers so near to a tie that an f32 between would be the tie."""
    middle = ties(dtype)[: len(ties(dtype)) // 3].astype(np.float64)
    limits = [1e300, -1e300, 1e-300, -1e-300, np.inf, np.nan, 0.0, -0.0, 65519.9999999999]
    beside = (np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf), middle * (1 + 1e-12))
    values = np.concatenate([middle, *beside, limits])
    got = converted(values, f64, dtype, 8, machine)
    exact = got.astype(np.float64)
    with np.errstate(all="ignore"):
        if dtype == f16:
            assert_same_bits(got, values.astype(np.float16))
            return
        # The nearest of the three candidates, computed without rounding.
        for step in (-1, 1):
            bits = got.view(np.uint16).astype(np.int32)
            beside = (bits + step).astype(np.uint16).view(dtype.numpy()).astype(np.float64)
            known = np.isfinite(exact) & np.isfinite(beside) & np.isfinite(values)
            mine, other = abs(exact - values)[known], abs(beside - values)[known]
            assert (mine <= other).all()
            assert (bits[known][mine == other] % 2 == 0).all()


@pytest.mark.parametrize("dtype", HALF_DTYPES, ids=str)
def test_interpreter_rounds_as_machine_code(dtype: DType) -> None:
    values = ties(dtype)[:: len(ties(dtype)) // 2000].astype(np.float64)
    values = np.concatenate([values, np.nextafter(values, np.inf), [1e39, -1e39, np.nan, 1e-60]])
    bits = np.array([half_bits(value, dtype) for value in values.tolist()], np.uint16)
    assert_same_bits(bits.view(dtype.numpy()), converted(values, f64, dtype))
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    bits = np.array([half_bits(value, dtype) for value in single], np.uint16)
    assert_same_bits(bits.view(dtype.numpy()), converted(single, f32, dtype))


def test_nan_keeps_its_sign_and_upper_payload_and_becomes_quiet() -> None:
    words = np.array([0x7F800001, 0xFF812345, 0x7FC00000, 0xFFFFFFFF, 0x7FA10000], np.uint32)
    expected = [0x7FC0, 0xFFC1, 0x7FC0, 0xFFFF, 0x7FE1]
    for lanes in LANES:
        got = converted(words.view(np.float32), f32, bf16, lanes)
        np.testing.assert_array_equal(got.view(np.uint16), expected)
    assert [half_bits(value, bf16) for value in words.view(np.float32)] == expected


@pytest.mark.parametrize("dtype", HALF_DTYPES, ids=str)
@pytest.mark.parametrize("lanes", LANES)
def test_copy_keeps_all_bits(dtype: DType, lanes: int) -> None:
    values = ALL_BITS.view(dtype.numpy())
    build = KernelBuilder("copy")
    n = build.parameter("n")
    x, y = build.input("x", dtype, (n,)), build.output("y", dtype, (n,))
    with build.loops(i=n) as i:
        y[i] = x[i]
    kernel = build.kernel()
    schedule = Schedule(kernel).vectorize("i", lanes) if lanes else Schedule(kernel)
    result = np.empty_like(values)
    compile(schedule)(x=values, y=result)
    np.testing.assert_array_equal(result.view(np.uint16), ALL_BITS)
    expected = run_reference(kernel, {"x": values[::97].copy()}, {"n": len(values[::97])})
    np.testing.assert_array_equal(expected["y"].view(np.uint16), ALL_BITS[::97])


def expressions() -> list:  # type: ignore[type-arg]
    def value(x: Expression, y: Expression) -> Expression:
        return x * y - cast(x, f32) / 3.0

    return [
        lambda x, y: x + y,
        value,
        lambda x, y: -x,
        minimum,
        maximum,
        lambda x, y: select(x < y, x, y),
        lambda x, y: select(x < y, x, cast(y, f32)),
        lambda x, y: sqrt(abs(x)),
        lambda x, y: fma(x, y, x),
        lambda x, y: 0.1,
    ]


@pytest.mark.parametrize("result", [*HALF_DTYPES, f32], ids=str)
@pytest.mark.parametrize("dtype", HALF_DTYPES, ids=str)
def test_operators_compute_in_f32_and_a_store_rounds_once(dtype: DType, result: DType) -> None:
    own = [
        lambda x, y, one=one: cast(one(x, y), result) if result != f32 else cast(one(x, y), f32)
        for one in expressions()
    ]
    kernel = binary(*own, operands=dtype, results=[result] * len(own))
    assert_all_forms_agree(kernel, dtype, rounding=0.01 if result in HALF_DTYPES else 1e-6)


def test_value_of_an_expression_is_not_rounded_between() -> None:
    build = KernelBuilder("between")
    x, y = build.input("x", bf16, (LENGTH,)), build.output("y", bf16, (LENGTH,))
    with build.loops(i=LENGTH) as i:
        y[i] = (x[i] + 1.0) - 1.0
    values = np.linspace(1, 2, LENGTH).astype(ml_dtypes.bfloat16) * ml_dtypes.bfloat16(2**-6)
    result = np.empty_like(values)
    compile(Schedule(build.kernel()))(values, result)
    np.testing.assert_array_equal(result.view(np.uint16), values.view(np.uint16))


@pytest.mark.parametrize("dtype", HALF_DTYPES, ids=str)
def test_casts(dtype: DType) -> None:
    kernel = binary(
        *[lambda x, y, target=target: cast(x, target) for target in (*ALL_DTYPES, *HALF_DTYPES)],
        operands=dtype,
        results=(*ALL_DTYPES, *HALF_DTYPES),
    )
    assert_all_forms_agree(kernel, dtype)


@pytest.mark.parametrize("source", ALL_DTYPES, ids=str)
def test_casts_from_other_types(source: DType) -> None:
    kernel = binary(
        *[lambda x, y, target=target: cast(x, target) for target in HALF_DTYPES],
        operands=source,
        results=HALF_DTYPES,
    )
    assert_all_forms_agree(kernel, source)


@pytest.mark.parametrize("source", INTEGER_DTYPES, ids=str)
def test_integers_are_rounded_as_ml_dtypes_does(source: DType) -> None:
    limits = np.iinfo(source.numpy())
    values = np.random.default_rng(5).integers(
        limits.min, limits.max, 4096, source.numpy(), endpoint=True
    )
    assert_same_bits(converted(values, source, bf16), values.astype(ml_dtypes.bfloat16))


@pytest.mark.parametrize("dtype", HALF_DTYPES, ids=str)
def test_reduction_rounds_every_sum(dtype: DType) -> None:
    build = KernelBuilder("sums")
    x, y = build.input("x", dtype, (40, 16)), build.inout("y", dtype, (16,))
    with build.loops(k=40, i=16) as (k, i):
        y[i] += x[k, i] * x[k, i]
    kernel = build.kernel()
    statement = kernel.statements["y"]
    assert statement.reduction is not None
    values = np.random.default_rng(1).random((40, 16)).astype(dtype.numpy())
    total = np.ones(16, dtype.numpy())
    expected = total.astype(np.float32)
    for row in values.astype(np.float64):
        expected = (row * row + expected).astype(np.float32)
        expected = expected.astype(dtype.numpy()).astype(np.float32)
    compile(Schedule(kernel).vectorize("i", 16))(values, total)
    np.testing.assert_allclose(total.astype(np.float32), expected, rtol=2.0**-7)


@pytest.mark.parametrize("dtype", HALF_DTYPES, ids=str)
def test_exported_c_computes_the_same(dtype: DType, tmp_path: Path) -> None:
    kernel = binary(
        *[lambda x, y, t=t: cast(x * y, t) for t in (bf16, f16, f32, f64, i32)],
        *[lambda x, y, t=t: cast(cast(x, f64) / 3.0, t) for t in (bf16, f16)],
        operands=dtype,
        results=(bf16, f16, f32, f64, i32, bf16, f16),
    )
    for suffix in (".c", ".o"):
        assert_program_agrees(Schedule(kernel), tmp_path / suffix[1:], suffix=suffix)


@pytest.mark.parametrize("dtype", HALF_DTYPES, ids=str)
def test_c_rounds_every_value_as_machine_code(dtype: DType, tmp_path: Path) -> None:
    single = np.concatenate([widened(ALL_BITS.view(dtype.numpy()), f32), ties(dtype)])
    with np.errstate(all="ignore"):
        double = np.nextafter(single.astype(np.float64), 0)
    for source, values in ((f32, single), (f64, double)):
        for target, given in ((dtype, values), (f32, ALL_BITS.view(dtype.numpy()))):
            own = source if target == dtype else dtype
            loops = lower(Schedule(conversion(own, target)))
            folder = tmp_path / f"{own}_to_{target}_{source}"
            folder.mkdir()
            got = run_c(loops, {"x": given}, {"n": len(given)}, folder)["y"]
            assert_same_bits(got, converted(given, own, target))


def test_vectors_of_f16_use_the_conversions_of_the_processor() -> None:
    schedule = Schedule(conversion(f16, f32)).vectorize("i", 16)
    assert "vcvtph2ps" in show(schedule, "asm", "haswell-avx2")


@pytest.mark.parametrize("dtype", HALF_DTYPES, ids=str)
def test_saturated_conversions(dtype: DType) -> None:
    targets = (i8, u8, i32, i64)
    kernel = binary(
        *[lambda x, y, target=target: saturate(x, target) for target in targets],
        operands=dtype,
        results=targets,
    )
    assert_all_forms_agree(kernel, dtype)
