from __future__ import annotations

import numpy as np
import pytest

from polysched.errors import KernelError, ScheduleError
from polysched.inspect.assembly import parse
from polysched.ir.expr.dtypes import DType, f32, f64, i32
from polysched.ir.semantics.memory import AnyArray
from polysched.legality.check import check
from polysched.library.gemv import gemv_kernel
from polysched.library.softmax import softmax_kernel, softmax_schedule
from polysched.lower import compile, show
from polysched.machine.load import load_machine
from tests.support.differential import NO_CACHE
from tests.support.effort import covering

MACHINE = load_machine("skylake-avx512")
ROUNDING = {f32: 1e-6, f64: 2e-15}


def softmax(x: AnyArray) -> AnyArray:
    """By numpy: as the kernel up to the difference, which is rounded, then in a wider type."""
    difference = x - x.max(1, keepdims=True, initial=-np.inf)
    power = np.exp(difference.astype(np.longdouble))
    result: AnyArray = power / power.sum(1, keepdims=True)
    return result


def run(x: AnyArray, dtype: DType = f32, threads: int = 1) -> AnyArray:
    schedule = softmax_schedule(softmax_kernel(*x.shape, dtype=dtype), MACHINE, threads)
    assert check(schedule).is_legal
    result: AnyArray = compile(schedule, cache=NO_CACHE)(x)
    return result


def scattered(rows: int, columns: int, dtype: DType = f32) -> AnyArray:
    values: AnyArray = np.random.default_rng(columns).uniform(-40, 40, (rows, columns))
    return values.astype(dtype.numpy())


@covering(1, columns=[0, 1, 15, 16, 17, 33, 1000, 1009], dtype=[f32, f64])
def test_any_number_of_columns(columns: int, dtype: DType) -> None:
    x = scattered(3, columns, dtype)
    np.testing.assert_allclose(
        run(x, dtype), softmax(x), rtol=ROUNDING[dtype], atol=np.finfo(dtype.numpy()).tiny
    )


def test_no_rows() -> None:
    assert run(scattered(0, 7)).shape == (0, 7)


def test_threads() -> None:
    x = scattered(131, 1024)
    np.testing.assert_array_equal(run(x, threads=2), run(x))
    schedule = softmax_schedule(softmax_kernel(*x.shape), MACHINE, 2)
    assert "parallel row" in show(schedule, "loops")


def test_large_and_special_values() -> None:
    """No overflow of finite numbers; NaN where numpy's formula has it, and nowhere else."""
    x = np.zeros((6, 37), np.float32)
    x[0] = np.linspace(-3e38, 3e38, 37)
    x[1, 5] = np.nan
    x[2, 36] = np.inf
    x[3, 1:] = -np.inf
    x[4] = -np.inf
    x[5] = 1000
    with np.errstate(invalid="ignore", over="ignore"):
        expected = softmax(x)
    np.testing.assert_allclose(run(x), expected, rtol=1e-6)


def test_hot_loops() -> None:
    schedule = softmax_schedule(softmax_kernel(10, 1024), MACHINE)
    (function,) = parse(show(schedule, "asm", MACHINE))
    innermost = [loop.counts for loop in function.loops if loop.is_innermost]
    assert len(innermost) == 3
    largest, power, scale = innermost
    assert (largest.stores, power.vector_stores, scale.vector_stores) == (0, 2, 1)
    assert power.fma == 2 * 9
    for counts in innermost:
        assert counts.widest_register == "zmm"
        assert (counts.spills, counts.gathers, counts.calls, counts.masked) == (0, 0, 0, 0)


def test_refusals() -> None:
    with pytest.raises(KernelError, match=r"softmax: rows is -1; expected an integer >= 0"):
        softmax_kernel(-1, 4)
    with pytest.raises(KernelError, match=r"softmax: elements of type i32; expected f32 or f64"):
        softmax_kernel(1, 4, dtype=i32)
    with pytest.raises(ScheduleError, match=r"no array 'x' with the dimensions row column .*soft"):
        softmax_schedule(gemv_kernel(3, 4), MACHINE)
    with pytest.raises(ScheduleError, match=r"threads is 0; expected at least 1"):
        softmax_schedule(softmax_kernel(3, 4), MACHINE, 0)
