"""Python numbers as arguments: inputs without dimensions, and parameters after the arrays."""

import numpy as np
import pytest

from polysched.errors import CallError
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, boolean, f32, f64, i32, u8
from polysched.ir.expr.functions import cast, select
from polysched.lower import compile
from polysched.runtime.kernel import CompiledKernel
from polysched.schedule.schedule import Schedule
from tests.support.differential import NO_CACHE


def scale(dtype: DType = f32) -> CompiledKernel:
    """``y[i] = t * y[i]`` for the first ``m`` elements."""
    build = KernelBuilder("scale")
    n, m = build.parameter("n"), build.parameter("m")
    build.assume(m <= n)
    y, t = build.inout("y", f64, (n,)), build.input("t", dtype, ())
    with build.loops(i=m) as i:
        y[i] = select(t[()], 5.0, y[i]) if dtype == boolean else y[i] * cast(t[()], f64)
    return compile(Schedule(build.kernel()), cache=NO_CACHE)


@pytest.mark.parametrize(
    ("dtype", "value", "factor"),
    [
        (f32, 2.5, 2.5),
        (f32, 3, 3.0),
        (f32, 0.1, float(np.float32(0.1))),
        (f64, 0.1, 0.1),
        (i32, -7, -7.0),
        (u8, 255, 255.0),
        (boolean, True, 5.0),
        (f32, 1e300, float("inf")),
    ],
)
@pytest.mark.usefixtures("call_table")
def test_a_number_stands_for_an_array(dtype: DType, value: float, factor: float) -> None:
    run = scale(dtype)
    for _ in range(3):  # the first call is planned, the others may be repeated
        y = np.ones(4)
        run(y, value, m=3)
        assert y.tolist() == [factor, factor, factor, 1.0]
    y = np.ones(4)
    run.bind(y, t=value, m=2)()
    assert y.tolist() == [factor, factor, 1.0, 1.0]


@pytest.mark.usefixtures("call_table")
def test_other_numbers_in_repeated_calls() -> None:
    run = scale()
    for value in (2.0, 3.0, 2.0, 4):
        for length in (1, 2, 3):
            y = np.ones(3)
            run(y, value, 3, length)
            assert y.tolist() == [value] * length + [1.0] * (3 - length)


@pytest.mark.usefixtures("call_table")
def test_parameters_after_the_arrays() -> None:
    run = scale()
    t = np.array(2, np.float32)
    for m in (0, 3, 1, 3):
        y = np.ones(3)
        run(y, t, 3, m)
        assert y.tolist() == [2.0] * m + [1.0] * (3 - m)
        y = np.ones(3)
        run(y, t, 3, m=m)
        assert y.tolist() == [2.0] * m + [1.0] * (3 - m)


@pytest.mark.parametrize(
    ("dtype", "value", "message"),
    [
        (i32, 2.5, "'t' is 2.5, which is not a number of type i32"),
        (u8, 256, "'t' is 256, which is not a number of type u8"),
        (u8, True, "'t' is True, which is not a number of type u8"),
        (boolean, 1, "'t' is 1, which is not a number of type bool"),
        (f32, "2", "array 't' is of type str"),
        (f64, 10**400, "'t' is an integer too large for type f64"),
    ],
)
def test_numbers_that_do_not_fit(dtype: DType, value: float, message: str) -> None:
    with pytest.raises(CallError, match=message):
        scale(dtype)(np.ones(4), value, m=3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((4, 3, 2), "5 arrays are given by position; expected"),
        ((4, 2.0), "parameter 'm' is 2.0 of type float; expected an integer"),
        ((5, 3), "n"),
    ],
)
def test_parameters_that_do_not_fit(arguments: tuple[float, ...], message: str) -> None:
    with pytest.raises(CallError, match=message):
        scale()(np.ones(4), 2.0, *arguments)


def test_an_array_with_dimensions_is_no_number() -> None:
    with pytest.raises(CallError, match="array 'y' is of type float"):
        scale()(1.0, 2.0, m=1)
