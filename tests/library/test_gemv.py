from __future__ import annotations

import numpy as np
import pytest

from polysched.errors import KernelError, ScheduleError
from polysched.inspect.assembly import hot_loop, parse
from polysched.ir.expr.dtypes import DType, f32, f64
from polysched.legality.check import check
from polysched.library.gemv import gemv_kernel, gemv_schedule
from polysched.library.reduce import Combine, reduce_kernel
from polysched.lower import compile, show
from polysched.machine.load import load_machine
from polysched.user import Schedule
from tests.support.differential import NO_CACHE
from tests.support.effort import covering

MACHINE = load_machine("skylake-avx512")
TRANSPOSE = pytest.mark.parametrize("transpose", [False, True], ids=["plain", "transposed"])


def assert_right(
    rows: int, columns: int, transpose: bool, dtype: DType = f32, threads: int = 1
) -> Schedule:
    """On small integers, whose sums are exact in any order. Returns the schedule."""
    generator = np.random.default_rng(rows)
    a = generator.integers(-5, 6, (rows, columns)).astype(dtype.numpy())
    x = generator.integers(-5, 6, rows if transpose else columns).astype(dtype.numpy())
    kernel = gemv_kernel(rows, columns, transpose=transpose, dtype=dtype)
    schedule = gemv_schedule(kernel, MACHINE, threads)
    assert check(schedule).is_legal
    y = compile(schedule, cache=NO_CACHE)(a, x)
    np.testing.assert_array_equal(y, (a.T if transpose else a) @ x)
    return schedule


@covering(1, columns=[0, 1, 15, 16, 17, 31, 1000, 1009], transpose=[False, True])
def test_any_number_of_columns(columns: int, transpose: bool) -> None:
    assert_right(5, columns, transpose)


@covering(1, rows=[0, 1, 2, 3, 4, 7, 8, 9, 101], transpose=[False, True])
def test_any_number_of_rows(rows: int, transpose: bool) -> None:
    assert_right(rows, 147, transpose)


@TRANSPOSE
def test_double_precision(transpose: bool) -> None:
    assert_right(37, 83, transpose, f64)


@covering(
    1,
    shape=[(1, 140_000), (3, 45_000), (70_001, 2), (300, 500)],
    transpose=[False, True],
)
def test_threads(shape: tuple[int, int], transpose: bool) -> None:
    schedule = assert_right(*shape, transpose, threads=2)
    assert "parallel" in show(schedule, "loops")


@TRANSPOSE
def test_nan_and_infinity(transpose: bool) -> None:
    a = np.ones((20, 20), np.float32)
    a[3, 5], a[7, 7] = np.nan, -np.inf
    kernel = gemv_kernel(20, 20, transpose=transpose)
    y = compile(gemv_schedule(kernel, MACHINE), cache=NO_CACHE)(a, np.ones(20, np.float32))
    np.testing.assert_array_equal(y, a.sum(0 if transpose else 1))


@pytest.mark.parametrize(("transpose", "loads", "stores"), [(False, 2, 0), (True, 1, 1)])
def test_hot_loop(transpose: bool, loads: int, stores: int) -> None:
    """Four rows share two vectors of ``x``; transposed, eight rows share a vector of ``y``."""
    schedule = gemv_schedule(gemv_kernel(96, 9600, transpose=transpose), MACHINE)
    loop = hot_loop(parse(show(schedule, "asm", MACHINE))[0])
    assert loop is not None
    counts = loop.counts
    assert (counts.fma, counts.fma_memory, counts.widest_register) == (8, 8, "zmm")
    assert (counts.vector_loads, counts.stores) == (loads, stores)
    assert (counts.spills, counts.gathers, counts.single_lane, counts.masked) == (0, 0, 0, 0)


def test_refusals() -> None:
    with pytest.raises(KernelError, match=r"gemv: columns is -2; expected an integer >= 0"):
        gemv_kernel(3, -2)
    with pytest.raises(ScheduleError, match=r"kernel 'reduce_sum' has no array 'a' .* gemv_kernel"):
        gemv_schedule(reduce_kernel(Combine.SUM, 3, 4), MACHINE)
