"""Rounding to the nearest whole number, of two to the even one, or to that away from 0."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps
from polysched.errors import LoweringError
from polysched.ir.expr.expressions import operation
from polysched.ir.expr.operators import Operator
from polysched.ir.semantics.scalar import scalar_function
from polysched.llvm.emit.module import CALLED


def _rounding(
    dtype: ps.DType,
    name: str = "rounded",
    array: str = "x",
    operator: Operator = Operator.ROUND_TO_EVEN,
) -> ps.Kernel:
    build = ps.KernelBuilder(name)
    x, y = build.input(array, dtype, (64,)), build.output("y", dtype, (64,))
    with build.loops(i=64) as i:
        y[i] = operation(operator, x[i])
    return build.kernel()


@pytest.mark.parametrize("dtype", [ps.f32, ps.f64])
@pytest.mark.parametrize("lanes", [None, 16])
@pytest.mark.parametrize("machine", ["generic", None])
@pytest.mark.parametrize("operator", [Operator.ROUND_TO_EVEN, Operator.ROUND_HALF_AWAY])
def test_halves(
    dtype: ps.DType, lanes: int | None, machine: str | None, operator: Operator
) -> None:
    schedule = ps.Schedule(_rounding(dtype, operator=operator))
    if lanes is not None:
        schedule = schedule.vectorize("i", lanes)
    x = (np.arange(64) / 4 - 8).astype(dtype.numpy())
    x[:8] = [-0.0, np.inf, -np.inf, np.nan, 0.49999997, 8388607.5, -4503599627370495.5, 1e30]
    x[8:11] = [np.nextafter(dtype.numpy().type(0.5), 0), 4503599627370497.0, 8388609.0]
    found = schedule.compile(machine)(x)
    wanted = np.array([scalar_function(operator, dtype)(one) for one in x], x.dtype)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
    assert found[-6] == (7 if operator is Operator.ROUND_HALF_AWAY else 6)


def test_its_name_is_taken_where_it_is_called() -> None:
    assert {"rint", "rintf", "round", "roundf"} <= CALLED
    with pytest.raises(LoweringError, match="cannot be named 'rintf'"):
        ps.Schedule(_rounding(ps.f32, name="rintf")).compile()
    assert "rintf(rintf_" in ps.Schedule(_rounding(ps.f32, array="rintf")).show("c")
