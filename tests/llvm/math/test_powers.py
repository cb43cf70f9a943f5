"""Powers with literal exponents, against the C library's."""

from __future__ import annotations

import numpy as np
import pytest

from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, f32, f64
from polysched.ir.expr.expressions import Constant, operation
from polysched.ir.expr.operators import Operator
from polysched.ir.semantics.c_library import library_function
from polysched.lower import compile
from polysched.schedule.schedule import Schedule
from tests.support.differential import NO_CACHE

EXPONENTS = (3.0, 12.0, 2.5, -0.5, -1.5, -2.0)
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, -2.0, 1e-200, 1e200, -1e110, 5e-324, 2.0, 1 + 2**-52)


@pytest.mark.parametrize("dtype", [f32, f64])
@pytest.mark.parametrize("lanes", [None, 8])
def test_powers_have_the_bits_of_the_c_library(dtype: DType, lanes: int | None) -> None:
    build = KernelBuilder("powers")
    n = build.parameter("n")
    x = build.input("x", dtype, (n,))
    y = build.output("y", dtype, (len(EXPONENTS), n))
    with build.loops(i=n) as i:
        for row, exponent in enumerate(EXPONENTS):
            with build.statement(f"S{row}"):
                y[row, i] = operation(Operator.POWER, x[i], Constant(exponent, dtype))
    schedule = Schedule(build.kernel())
    if lanes is not None:
        schedule = schedule.vectorize("i", lanes)
    generator = np.random.default_rng(1)
    with np.errstate(all="ignore"):
        numbers = np.concatenate([SPECIAL, 10.0 ** generator.uniform(-5, 5, 4000)])
        numbers[20:1000] *= -1
        numbers = numbers.astype(dtype.numpy())
    found = compile(schedule, cache=NO_CACHE)(numbers, n=len(numbers))
    called = library_function("pow", 2)
    exact = [[called(number, dtype.numpy().type(each)) for number in numbers] for each in EXPONENTS]
    np.testing.assert_array_equal(found, np.array(exact, dtype.numpy()))
