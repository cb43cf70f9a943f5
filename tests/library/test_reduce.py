"""Against numpy, on numbers whose sums and products are exact in any order."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from polysched.errors import KernelError, ScheduleError
from polysched.inspect.assembly import hot_loop, parse
from polysched.ir.expr.dtypes import DType, f32, f64, i32
from polysched.ir.semantics.memory import AnyArray
from polysched.legality.check import check
from polysched.library.gemv import gemv_kernel
from polysched.library.reduce import Axis, Combine, reduce_kernel, reduce_schedule
from polysched.lower import compile, show
from polysched.machine.load import load_machine
from tests.support.differential import NO_CACHE
from tests.support.effort import covering

MACHINE = load_machine("skylake-avx512")
LENGTHS = (0, 1, 15, 16, 17, 127, 1000, 1009)


def expected(combine: Combine, x: AnyArray, y: AnyArray, axis: int) -> AnyArray:
    dtype = x.dtype
    result: AnyArray
    match combine:
        case Combine.SUM:
            result = x.sum(axis, dtype=dtype)
        case Combine.PRODUCT:
            result = x.prod(axis, dtype=dtype)
        case Combine.MAXIMUM:
            result = x.max(axis)
        case Combine.MINIMUM:
            result = x.min(axis)
        case Combine.DOT:
            result = (x * y).sum(axis, dtype=dtype)
    return result


def run(
    combine: Combine, x: AnyArray, y: AnyArray, axis: Axis, dtype: DType, threads: int = 1
) -> AnyArray:
    terms, results = x.shape if axis is Axis.FIRST else x.shape[::-1]
    kernel = reduce_kernel(combine, results, terms, axis=axis, dtype=dtype)
    schedule = reduce_schedule(kernel, MACHINE, threads)
    assert check(schedule).is_legal
    inputs = (x, y) if combine is Combine.DOT else (x,)
    result: AnyArray = compile(schedule, cache=NO_CACHE)(*inputs)
    return result


def small(shape: tuple[int, ...], dtype: DType, combine: Combine, seed: int = 0) -> AnyArray:
    generator = np.random.default_rng(seed)
    if combine is Combine.PRODUCT:  # powers of two, few of them other than 1 and -1
        values = generator.choice([1, -1, 2], shape, p=[0.6, 0.395, 0.005])
    else:
        values = generator.integers(-5, 6, shape)
    return values.astype(dtype.numpy())


def assert_right(
    combine: Combine, results: int, terms: int, axis: Axis, dtype: DType, threads: int = 1
) -> None:
    shape = (results, terms) if axis is Axis.LAST else (terms, results)
    x, y = (small(shape, dtype, combine, seed) for seed in range(2))
    got = run(combine, x, y, axis, dtype, threads)
    np.testing.assert_array_equal(got, expected(combine, x, y, int(axis is Axis.LAST)))


@covering(1, axis=Axis, terms=LENGTHS)
def test_sums_of_any_length(axis: Axis, terms: int) -> None:
    assert_right(Combine.SUM, 3, terms, axis, f32)


@covering(1, dtype=[f32, f64, i32], combine=Combine, axis=Axis)
def test_operations_and_types(axis: Axis, combine: Combine, dtype: DType) -> None:
    assert_right(combine, 5, 199, axis, dtype)


@covering(1, axis=Axis, results=[0, 1, 15, 16, 17, 64, 127, 150])
def test_any_number_of_results(axis: Axis, results: int) -> None:
    assert_right(Combine.DOT, results, 37, axis, f32)


@covering(1, axis=Axis, results=[1, 2, 40, 600], threads=[2, 3])
def test_threads(axis: Axis, results: int, threads: int) -> None:
    terms = (1 << 17) // results + 5
    assert_right(Combine.SUM, results, terms, axis, f32, threads)
    kernel = reduce_kernel(Combine.SUM, results, terms, axis=axis)
    assert "parallel" in show(reduce_schedule(kernel, MACHINE, threads), "loops")


def test_few_elements_get_one_thread() -> None:
    schedule = reduce_schedule(reduce_kernel(Combine.SUM, 100, 100), MACHINE, 2)
    assert "parallel" not in show(schedule, "loops")


@pytest.mark.parametrize("axis", Axis)
@pytest.mark.parametrize(
    ("combine", "neutral"),
    [(Combine.SUM, 0), (Combine.PRODUCT, 1), (Combine.MAXIMUM, -np.inf), (Combine.MINIMUM, np.inf)],
)
def test_without_terms(axis: Axis, combine: Combine, neutral: float) -> None:
    x = np.empty((2, 0) if axis is Axis.LAST else (0, 2), np.float32)
    np.testing.assert_array_equal(run(combine, x, x, axis, f32), [neutral, neutral])


@covering(1, place=[0, 17, 299], **{"combine, axis": product(Combine, Axis)})
def test_nan_and_infinity(axis: Axis, combine: Combine, place: int) -> None:
    x = np.ones((3, 300), np.float32)
    x[:, place] = [np.nan, np.inf, -np.inf]
    y = np.ones_like(x)
    if axis is Axis.FIRST:
        x, y = np.ascontiguousarray(x.T), np.ascontiguousarray(y.T)
    got = run(combine, x, y, axis, f32)
    np.testing.assert_array_equal(got, expected(combine, x, y, int(axis is Axis.LAST)))


@pytest.mark.parametrize(
    ("axis", "results", "stores"), [(Axis.LAST, 50, 0), (Axis.FIRST, 64, 0), (Axis.FIRST, 999, 1)]
)
def test_hot_loop(axis: Axis, results: int, stores: int) -> None:
    """Eight independent sums in full vectors, or a vector of results stored for eight rows."""
    schedule = reduce_schedule(reduce_kernel(Combine.DOT, results, 1000, axis=axis), MACHINE)
    loop = hot_loop(parse(show(schedule, "asm", MACHINE))[0])
    assert loop is not None
    counts = loop.counts
    assert (counts.fma, counts.widest_register, counts.stores) == (8, "zmm", stores)
    assert (counts.spills, counts.gathers, counts.single_lane, counts.masked) == (0, 0, 0, 0)


def test_combinations_and_axes_by_name() -> None:
    kernel = reduce_kernel("max", 3, 4, axis="first")
    assert kernel.name == "reduce_max"
    assert kernel.arrays["x"].dimensions == ("term", "result")


def test_refusals() -> None:
    with pytest.raises(KernelError, match=r"reduce: terms is -1; expected an integer >= 0"):
        reduce_kernel(Combine.SUM, 3, -1)
    with pytest.raises(KernelError, match=r"combine='total' is not known; .* one of 'sum', 'prod"):
        reduce_kernel("total", 3, 4)
    with pytest.raises(KernelError, match=r"axis=1 is not known; expected one of 'first', 'last'"):
        reduce_kernel("sum", 3, 4, axis=1)  # type: ignore[arg-type]
    kernel = reduce_kernel(Combine.SUM, 3, 4)
    with pytest.raises(ScheduleError, match=r"threads is 0; expected at least 1"):
        reduce_schedule(kernel, MACHINE, 0)
    with pytest.raises(ScheduleError, match=r"no array 'x' with the dimensions result term .* re"):
        reduce_schedule(gemv_kernel(3, 4), MACHINE)
