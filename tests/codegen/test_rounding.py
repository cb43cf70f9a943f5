"""Rounding to the nearest whole number, of two that are equally near to the even one."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps
from polysched.codegen.module import CALLED
from polysched.errors import LoweringError


def _rounding(dtype: ps.DType, name: str = "rounded", array: str = "x") -> ps.Kernel:
    build = ps.KernelBuilder(name)
    x, y = build.input(array, dtype, (64,)), build.output("y", dtype, (64,))
    with build.loops(i=64) as i:
        y[i] = np.rint(x[i])
    return build.kernel()


@pytest.mark.parametrize("dtype", [ps.f32, ps.f64])
@pytest.mark.parametrize("lanes", [None, 16])
@pytest.mark.parametrize("machine", ["generic", None])
def test_halves_go_to_the_even_one(dtype: ps.DType, lanes: int | None, machine: str | None) -> None:
    schedule = ps.Schedule(_rounding(dtype))
    if lanes is not None:
        schedule = schedule.vectorize("i", lanes)
    x = (np.arange(64) / 4 - 8).astype(dtype.numpy())
    x[:8] = [-0.0, np.inf, -np.inf, np.nan, 0.49999997, 8388607.5, -4503599627370495.5, 1e30]
    found, wanted = schedule.compile(machine)(x), np.rint(x)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


def test_its_name_is_taken_where_it_is_called() -> None:
    assert {"rint", "rintf"} <= CALLED
    with pytest.raises(LoweringError, match="cannot be named 'rintf'"):
        ps.Schedule(_rounding(ps.f32, name="rintf")).compile()
    assert "rintf(rintf_" in ps.Schedule(_rounding(ps.f32, array="rintf")).show("c")
