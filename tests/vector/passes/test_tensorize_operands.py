"""Operands of tensorized nests: other factors, and terms that are read once."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps
from tests.support.differential import assert_agrees
from tests.vector.passes.test_tensorize import VNNI_MACHINE, dots, tensorized, vnni


@pytest.mark.parametrize(("dtype", "together"), [(ps.i8, 4), (ps.u8, 4), (ps.i16, 2), (ps.u8, 2)])
def test_terms_that_are_no_products(dtype: ps.DType, together: int) -> None:
    build = ps.KernelBuilder("sums")
    x, s = build.input("x", dtype, (20, together)), build.inout("s", ps.i32, (20,))
    with build.loops(n=20, r=together) as (n, r):
        s[n] += ps.cast(x[n, r], ps.i32)
    schedule = tensorized(build.kernel(), vnni(together))
    assert dots(schedule, VNNI_MACHINE) == {"vpdp": 2}
    ends = np.resize(np.array([dtype.lowest, dtype.highest, 1]), (20, together))
    assert_agrees(schedule, {}, given={"x": ends.astype(dtype.numpy())}, machine=VNNI_MACHINE)


@pytest.mark.parametrize("factor", [-128, 3, 127])
def test_a_constant_factor(factor: int) -> None:
    build = ps.KernelBuilder("sums")
    x, s = build.input("x", ps.u8, (20, 4)), build.inout("s", ps.i32, (20,))
    with build.loops(n=20, r=4) as (n, r):
        s[n] += ps.cast(x[n, r], ps.i32) * factor
    schedule = tensorized(build.kernel(), "vpdpbusd")
    assert dots(schedule, VNNI_MACHINE) == {"vpdp": 2}
    assert_agrees(schedule, {}, machine=VNNI_MACHINE)


def test_terms_that_are_shared_are_read_once_until_something_is_written() -> None:
    build = ps.KernelBuilder("dots")
    x, y = build.inout("x", ps.i16, (2,)), build.input("y", ps.i16, (16, 2))
    s = build.inout("s", ps.i32, (3, 16))
    for row in range(3):
        with build.loops(n=16, r=2) as (n, r), build.statement(f"row_{row}"):
            s[row, n] += ps.cast(x[r], ps.i32) * ps.cast(y[n, r], ps.i32)
    with build.loops(i=2) as i, build.statement("change"):
        x[i] = x[i] + 1
    with build.loops(n=16, r=2) as (n, r), build.statement("row_3"):
        s[0, n] += ps.cast(x[r], ps.i32) * ps.cast(y[n, r], ps.i32)
    schedule = ps.Schedule(build.kernel()).unroll("i")
    for row in range(4):
        schedule = schedule.vectorize(f"row_{row}.n", 16).unroll(f"row_{row}.r")
        schedule = schedule.tensorize(f"row_{row}.nv", "vpdpwssd")
    assert dots(schedule, VNNI_MACHINE) == {"vpdp": 4}
    assert_agrees(schedule, {}, machine=VNNI_MACHINE)
