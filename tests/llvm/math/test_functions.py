"""All elementary functions that are computed, not called: errors, special values, code."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest

from polysched.inspect.assembly import Block, Function, parse
from polysched.inspect.instruction import Kind
from polysched.inspect.instruction_counts import count
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, f32, f64
from polysched.ir.expr.expressions import operation
from polysched.ir.expr.operators import Operator
from polysched.ir.semantics.memory import AnyArray
from polysched.lower import show
from polysched.schedule.schedule import Schedule
from tests.llvm.math.judging import EXACT, FULL_VECTOR, errors, exact, of, scheduled
from tests.support.differential import assert_agrees

FLOATS = pytest.mark.parametrize("dtype", [f32, f64], ids=str)
OPERATORS = [operator for operator in EXACT if operator is not Operator.EXPONENTIAL]
"""That one has tests of its own."""

ALL = pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.value)
CIRCULAR = (Operator.SINE, Operator.COSINE, Operator.TANGENT)
LARGEST = {f32: 3216.0, f64: 1.6e6}


def samples(dtype: DType) -> AnyArray:
    """Any bits, all magnitudes, evenly spread numbers, neighbors of multiples of pi / 4."""
    generator = np.random.default_rng(11)
    kind = dtype.numpy()
    bits = generator.integers(0, 1 << dtype.bits, 10_000, dtype=f"u{dtype.bytes}").view(kind)
    magnitudes = np.exp2(generator.uniform(-40, 11, 10_000)) * generator.choice([-1, 1], 10_000)
    spread = np.concatenate([generator.uniform(-end, end, 5_000) for end in (1.1, 10, 90, 720)])
    around = 1 + generator.uniform(-1e-3, 1e-3, 5_000)
    multiples = (np.arange(-1_000, 1_000) * np.pi / 4).astype(kind)
    beside = [multiples, np.nextafter(multiples, np.inf), np.nextafter(multiples, -np.inf)]
    parts = (bits, magnitudes, spread, around, *beside, np.arange(-400, 400) / 4)
    with np.errstate(all="ignore"):
        return np.concatenate([part.astype(kind) for part in parts])


SAMPLES = {dtype: samples(dtype) for dtype in (f32, f64)}


@FLOATS
@ALL
def test_below_one_unit_in_the_last_place(operator: Operator, dtype: DType) -> None:
    x = SAMPLES[dtype]
    if operator in CIRCULAR:  # the library's own errors are not ours
        x = x[np.abs(x) <= LARGEST[dtype]]
    got = of(operator, x, dtype, FULL_VECTOR[dtype])
    found = errors(operator, x, got, dtype)
    assert found.max() < 1, x[found.argmax()]
    scalars = of(operator, x, dtype, None)
    np.testing.assert_array_equal(scalars, got, err_msg="scalars differ from vectors")
    np.testing.assert_array_equal(np.signbit(scalars), np.signbit(got))


@FLOATS
@ALL
def test_special_values(operator: Operator, dtype: DType) -> None:
    limits = np.finfo(dtype.numpy())
    positive = [0.0, math.inf, limits.smallest_subnormal, limits.tiny, limits.max, 1.0, 4.0, 1e4]
    x = np.array([math.nan, *positive, *(-value for value in positive)], dtype.numpy())
    with np.errstate(over="ignore"):
        right = exact(operator, x, dtype).astype(dtype.numpy())
    known = np.isnan(right) | np.isinf(right) | (right == 0) | (np.abs(x) < 1e-30)
    for lanes in (None, FULL_VECTOR[dtype]):
        got = of(operator, x, dtype, lanes)
        np.testing.assert_array_equal(got[known], right[known])
        signed = known & ~np.isnan(right)
        np.testing.assert_array_equal(np.signbit(got[signed]), np.signbit(right[signed]))


@FLOATS
@pytest.mark.parametrize(
    ("operator", "x", "y"),
    [
        (Operator.EXPONENTIAL_2, range(-140, 128), [2.0**n for n in range(-140, 128)]),
        (Operator.LOGARITHM_2, [2.0**n for n in range(-140, 128)], range(-140, 128)),
        (Operator.LOGARITHM_10, [10.0**n for n in range(11)], range(11)),
        (Operator.HYPERBOLIC_COSINE, [0.0], [1.0]),
        (Operator.HYPERBOLIC_TANGENT, [20.0, -1e9], [1.0, -1.0]),
    ],
    ids=lambda value: value.value if isinstance(value, Operator) else "",
)
def test_exact_results(operator: Operator, x: list[float], y: list[float], dtype: DType) -> None:
    got = of(operator, np.array(x, dtype.numpy()), dtype, FULL_VECTOR[dtype])
    np.testing.assert_array_equal(got, np.array(y, dtype.numpy()))


@pytest.mark.parametrize("lanes", [2, 32])
@pytest.mark.parametrize("operator", [Operator.HYPERBOLIC_TANGENT, Operator.LOGARITHM_10], ids=str)
def test_any_number_of_lanes_and_partial_vectors(operator: Operator, lanes: int) -> None:
    x = np.random.default_rng(lanes).uniform(0, 6, 3 * lanes - 1).astype(np.float32)
    for length in (0, 1, lanes - 1, lanes, lanes + 1, len(x)):
        np.testing.assert_array_equal(
            of(operator, x[:length], f32, lanes), of(operator, x[:length], f32, None)
        )


@FLOATS
@pytest.mark.parametrize("operator", CIRCULAR, ids=lambda operator: operator.value)
def test_large_arguments_of_some_lanes(operator: Operator, dtype: DType) -> None:
    """The results of the C library; those of other lanes are what they were."""
    x = np.linspace(-LARGEST[dtype], LARGEST[dtype], 21).astype(dtype.numpy())
    usual = of(operator, x, dtype, None)
    library = ctypes.CDLL("libm.so.6")[operator.value + ("f" if dtype is f32 else "")]
    library.restype = ctypes.c_float if dtype is f32 else ctypes.c_double
    library.argtypes = [library.restype]
    for place in (3, 20):
        for large in (np.nextafter(x[-1], np.inf), dtype.numpy().type(-1e30)):
            given = x.copy()
            given[place] = large
            usual[place] = library(float(large))
            for lanes in (None, FULL_VECTOR[dtype]):
                np.testing.assert_array_equal(of(operator, given, dtype, lanes), usual)
        usual = of(operator, x, dtype, None)


def test_calls_for_large_arguments_within_a_reduction() -> None:
    """Between them values stay in registers, over the blocks in which something is called."""
    build = KernelBuilder("mixed")
    n = build.parameter("n")
    x, y = build.input("x", f64, (n, 5)), build.output("y", f64, (n,))
    with build.loops(i=n) as i, build.statement("Z"):
        y[i] = 2.0 * x[i, 0]
    with build.loops(i=n, k=5) as (i, k), build.statement("S", order="any"):
        product = operation(Operator.SINE, x[i, k]) * operation(Operator.COSINE, x[i, k])
        y[i] += product + 2.0
    given = np.random.default_rng(4).uniform(-3, 3, (37, 5))
    given[:, 0] = np.abs(given[:, 0])
    given[[0, 7, 20], [3, 1, 4]] = 1e9, -7e12, 1.6e6 + 1
    schedule = Schedule(build.kernel()).split("S.i", 16, into=("out", "in")).vectorize("in", 8)
    schedule = schedule.reorder("out", "S.k", "in").unroll("in")
    assert_agrees(schedule, {"n": 37}, given={"x": given}, rounding=1e-14, interpreted=False)


def main_block(function: Function) -> Block:
    """The block that computes whole vectors: of those with most FMAs the first one."""
    return max(
        function.blocks,
        key=lambda block: sum(one.kind is Kind.FMA for one in block.instructions),
    )


@FLOATS
@ALL
def test_vector_code_calls_nothing(operator: Operator, dtype: DType) -> None:
    """But for large arguments, on a path of its own; and nothing is spilled beside that."""
    text = show(scheduled(operator, dtype, FULL_VECTOR[dtype]), "asm", "skylake-avx512")
    function = parse(text)[0]
    counts = count(main_block(function).instructions)
    assert (counts.calls, counts.single_lane, counts.gathers) == (0, 0, 0)
    # Nothing that is computed; constants may be read from the frame.
    assert counts.spill_stores == 0
    assert counts.vector_stores <= 1
    assert counts.widest_register == "zmm"
    # Of full vectors and of the last one.
    assert function.counts.calls == (2 if operator in CIRCULAR else 0)


@pytest.mark.parametrize("operator", [Operator.LOGARITHM_2, Operator.HYPERBOLIC_TANGENT], ids=str)
def test_no_call_without_fused_instructions(operator: Operator) -> None:
    (function,) = parse(show(scheduled(operator, f32, 4), "asm", "generic"))
    assert function.counts.calls == 0
    assert function.counts.fma == 0
