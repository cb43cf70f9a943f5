"""Estimates of reciprocals, against numpy in f64."""

from __future__ import annotations

import numpy as np
import pytest

from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32
from polysched.ir.expr.expressions import operation
from polysched.ir.expr.operators import Operator
from polysched.lower import compile
from polysched.schedule.schedule import Schedule
from tests.support.differential import NO_CACHE

MOST_ULPS = 2.0


@pytest.mark.parametrize("lanes", [None, 4, 32])
def test_reciprocals_are_accurate_and_have_c_results_at_the_ends(lanes: int | None) -> None:
    build = KernelBuilder("reciprocals")
    n = build.parameter("n")
    x = build.input("x", f32, (n,))
    y, z = build.output("y", f32, (n,)), build.output("z", f32, (n,))
    with build.loops(i=n) as i:
        with build.statement("S"):
            y[i] = operation(Operator.RECIPROCAL, x[i])
        with build.statement("T"):
            z[i] = operation(Operator.RECIPROCAL_SQUARE_ROOT, x[i])
    schedule = Schedule(build.kernel())
    if lanes is not None:
        schedule = schedule.vectorize("i", lanes)
    kernel = compile(schedule, cache=NO_CACHE)
    numbers = np.geomspace(2.0**-126, 2.0**125, 100_003).astype(np.float32)
    numbers[-6:] = 0.0, -0.0, np.inf, -np.inf, 2.0**-129, -(2.0**-149)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        wide = numbers.astype(np.float64)
        exact = 1 / wide, 1 / np.sqrt(wide)
        rounded = [right.astype(np.float32) for right in exact]
    for got, right, single in zip(kernel(numbers, n=len(numbers)), exact, rounded, strict=True):
        assert np.allclose(got[-6:], single[-6:], rtol=2.0**-22, atol=0, equal_nan=True)
        assert np.max(np.abs(got[:-6] - right[:-6]) / np.spacing(single[:-6])) <= MOST_ULPS
