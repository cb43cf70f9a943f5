"""Against numpy in a wider type, whose error does not count here."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from polysched.inspect.assembly import hot_loop, parse
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, f32, f64
from polysched.ir.expr.functions import exp
from polysched.ir.semantics.memory import AnyArray
from polysched.lower import compile, show
from polysched.runtime.kernel import CompiledKernel
from polysched.schedule.schedule import Schedule
from tests.support.differential import NO_CACHE, assert_agrees

WIDER = {f32: np.float64, f64: np.longdouble}
FULL_VECTOR = {f32: 16, f64: 8}
FLOATS = pytest.mark.parametrize("dtype", [f32, f64], ids=str)


def growth(dtype: DType) -> Kernel:
    build = KernelBuilder("growth")
    n = build.parameter("n")
    x, y = build.input("x", dtype, (n,)), build.output("y", dtype, (n,))
    with build.loops(i=n) as i, build.statement("S"):
        y[i] = exp(x[i])
    return build.kernel()


def scheduled(dtype: DType, lanes: int | None) -> Schedule:
    schedule = Schedule(growth(dtype))
    return schedule if lanes is None else schedule.vectorize("i", lanes)


@cache
def compiled(dtype: DType, lanes: int | None) -> CompiledKernel:
    return compile(scheduled(dtype, lanes), cache=NO_CACHE)


def of(x: AnyArray, dtype: DType, lanes: int | None) -> AnyArray:
    result: AnyArray = compiled(dtype, lanes)(x, n=len(x))
    return result


def largest_error(x: AnyArray, got: AnyArray, dtype: DType) -> float:
    """In units of the last place of the right result."""
    exact = np.exp(x.astype(WIDER[dtype]))
    unit = np.spacing(exact.astype(dtype.numpy())).astype(WIDER[dtype])
    return float((np.abs(got.astype(WIDER[dtype]) - exact) / unit).max())


# The last two ranges have only denormal results, and the largest finite ones.
RANGES = [
    (f32, -104.0, 88.72),
    (f32, -0.4, 0.4),
    (f32, -103.97, -87.34),
    (f32, 88.0, 88.72),
    (f64, -745.0, 709.7),
    (f64, -0.4, 0.4),
    (f64, -745.13, -708.4),
    (f64, 709.0, 709.78),
]


@pytest.mark.parametrize(("dtype", "lowest", "highest"), RANGES, ids=str)
def test_below_one_unit_in_the_last_place(dtype: DType, lowest: float, highest: float) -> None:
    x = np.linspace(lowest, highest, 400_003).astype(dtype.numpy())
    got = of(x, dtype, FULL_VECTOR[dtype])
    assert largest_error(x, got, dtype) < 1
    np.testing.assert_array_equal(of(x, dtype, None), got, err_msg="scalars differ from vectors")


@FLOATS
@pytest.mark.parametrize("vector", [False, True], ids=["scalar", "vector"])
def test_special_values(dtype: DType, vector: bool) -> None:
    lowest, highest = (-104.0, 88.73) if dtype is f32 else (-745.2, 709.79)
    smallest = np.finfo(dtype.numpy()).smallest_subnormal
    cases = [
        (np.inf, np.inf),
        (-np.inf, 0),
        (np.nan, np.nan),
        (0.0, 1),
        (-0.0, 1),
        (smallest, 1),
        (-smallest, 1),
        (highest, np.inf),
        (np.finfo(dtype.numpy()).max, np.inf),
        (lowest, 0),
        (np.finfo(dtype.numpy()).min, 0),
    ]
    given, expected = (np.array(column, dtype.numpy()) for column in zip(*cases, strict=True))
    got = of(given, dtype, FULL_VECTOR[dtype] if vector else None)
    np.testing.assert_array_equal(got, expected)
    assert not np.signbit(got[got == 0]).any()


@FLOATS
def test_smallest_results(dtype: DType) -> None:
    """Denormal numbers down to the last one, and where it is rounded to 0."""
    smallest = np.log(np.finfo(dtype.numpy()).smallest_subnormal.astype(WIDER[dtype]))
    x = (smallest + np.array([2, 1, 0.5, 0, -0.68, -0.7])).astype(dtype.numpy())
    got = of(x, dtype, FULL_VECTOR[dtype])
    exact = np.exp(x.astype(WIDER[dtype])).astype(dtype.numpy())
    np.testing.assert_array_equal(got, exact)
    assert got[-2] > 0
    assert got[-1] == 0


@FLOATS
@pytest.mark.parametrize("lanes", [2, 4, 8, 16, 32, 64])
def test_any_number_of_lanes_and_partial_vectors(dtype: DType, lanes: int) -> None:
    generator = np.random.default_rng(lanes)
    x = generator.uniform(-100, 80, 3 * lanes - 1).astype(dtype.numpy())
    for length in (0, 1, lanes - 1, lanes, lanes + 1, len(x)):
        np.testing.assert_array_equal(
            of(x[:length], dtype, lanes), of(x[:length], dtype, None), err_msg=f"length {length}"
        )


@FLOATS
def test_lanes_outside_are_not_written(dtype: DType) -> None:
    rounding = 3e-7 if dtype is f32 else 5e-16
    assert_agrees(scheduled(dtype, 16), {"n": 0}, {"n": 1}, {"n": 37}, rounding=rounding)


@FLOATS
@pytest.mark.parametrize("machine", ["skylake-avx512", "haswell-avx2", "generic"])
def test_vector_code_calls_no_function(dtype: DType, machine: str) -> None:
    (function,) = parse(show(scheduled(dtype, FULL_VECTOR[dtype]), "asm", machine))
    assert function.counts.calls == 0


@FLOATS
def test_one_vector_an_iteration(dtype: DType) -> None:
    assembly = show(scheduled(dtype, FULL_VECTOR[dtype]), "asm", "skylake-avx512")
    loop = hot_loop(parse(assembly)[0])
    assert loop is not None
    counts = loop.counts
    coefficients = {f32: 4, f64: 9}[dtype]
    assert counts.fma == coefficients + 5  # with those of 1 + r + r**2/2 and of the range reduction
    assert (counts.spills, counts.single_lane, counts.gathers) == (0, 0, 0)
    assert counts.vector_stores == 1
    assert counts.widest_register == "zmm"


@pytest.mark.parametrize("vectors", [1, 2, 4])
@FLOATS
def test_the_instruction_that_scales_gives_the_same_bits(dtype: DType, vectors: int) -> None:
    lanes = vectors * FULL_VECTOR[dtype]
    ends = (-110, 95) if dtype == f32 else (-750, 715)
    x = np.concatenate(
        [
            np.linspace(*ends, 40_000),
            np.random.default_rng(vectors).uniform(*ends, 40_000),
            [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30],
        ]
    ).astype(dtype.numpy())
    np.testing.assert_array_equal(of(x, dtype, lanes), of(x, dtype, None))


@pytest.mark.parametrize(
    ("machine", "is_used"), [("skylake-avx512", True), ("haswell-avx2", False)]
)
@FLOATS
def test_only_avx512_has_the_instruction(dtype: DType, machine: str, is_used: bool) -> None:
    assembly = show(scheduled(dtype, FULL_VECTOR[dtype]), "asm", machine)
    assert ("vscalef" in assembly) == is_used
