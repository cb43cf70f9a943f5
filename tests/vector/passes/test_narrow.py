"""Minima and maxima of widened integers, taken of the integers that were widened."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps
from polysched.frontends.scop import parse_c
from polysched.ir.expr.expressions import Cast, Constant, Expression, Load, Operation
from polysched.ir.expr.operators import Operator
from polysched.loops.ir.nodes import Assign, walk
from polysched.lower import lower
from polysched.vector.passes.narrow import narrow_integers, narrowed


def _load(dtype: ps.DType) -> Load:
    return Load("x", (), dtype)


def _minimum(left: Expression, right: Expression, dtype: ps.DType) -> Operation:
    return Operation(Operator.MINIMUM, (left, right), dtype)


def test_an_extremum_comes_before_what_widens() -> None:
    byte = _load(ps.u8)
    found = narrowed(_minimum(Cast(byte, ps.i32), Cast(byte, ps.i32), ps.i32))
    assert found == Cast(Operation(Operator.MINIMUM, (byte, byte), ps.u8), ps.i32)
    found = narrowed(_minimum(Constant(200, ps.i32), Cast(byte, ps.i32), ps.i32))
    assert found == Cast(Operation(Operator.MINIMUM, (Constant(200, ps.u8), byte), ps.u8), ps.i32)


def test_extrema_of_extrema() -> None:
    byte = _load(ps.u8)
    wide = Cast(byte, ps.i32)
    found = narrowed(_minimum(_minimum(wide, Constant(7, ps.i32), ps.i32), wide, ps.i32))
    inner = _minimum(byte, Constant(7, ps.u8), ps.u8)
    assert found == Cast(_minimum(inner, byte, ps.u8), ps.i32)
    assert narrowed(_minimum(_minimum(wide, wide, ps.i32), _load(ps.i32), ps.i32)) is None


@pytest.mark.parametrize(
    ("left", "right", "dtype"),
    [
        (Cast(_load(ps.u8), ps.i32), Cast(_load(ps.i8), ps.i32), ps.i32),
        (Cast(_load(ps.u8), ps.i32), Constant(256, ps.i32), ps.i32),
        (Cast(_load(ps.u8), ps.i32), Constant(-1, ps.i32), ps.i32),
        (Cast(_load(ps.u8), ps.i32), _load(ps.i32), ps.i32),
        (Cast(_load(ps.i8), ps.u32), Cast(_load(ps.i8), ps.u32), ps.u32),
        (Cast(_load(ps.i32), ps.u8), Cast(_load(ps.i32), ps.u8), ps.u8),
        (Cast(_load(ps.u8), ps.f32), Cast(_load(ps.u8), ps.f32), ps.f32),
        (Constant(1, ps.i32), Constant(2, ps.i32), ps.i32),
    ],
)
def test_values_that_widening_changes_stay(
    left: Expression, right: Expression, dtype: ps.DType
) -> None:
    assert narrowed(_minimum(left, right, dtype)) is None


@pytest.mark.parametrize("dtype", [ps.u8, ps.i8, ps.u16, ps.i16])
def test_values(dtype: ps.DType) -> None:
    build = ps.KernelBuilder("clamp")
    a, b = build.input("a", dtype, (300,)), build.input("b", dtype, (300,))
    out = build.output("out", dtype, (300,))
    with build.loops(i=300) as i:
        low = ps.minimum(ps.cast(a[i], ps.i32), ps.cast(b[i], ps.i32))
        out[i] = ps.cast(ps.maximum(low, 7), dtype)
    schedule = ps.Schedule(build.kernel()).vectorize("i", 64)
    limits = np.iinfo(dtype.numpy())
    x, y = np.random.default_rng(0).integers(limits.min, limits.max + 1, (2, 300), dtype.numpy())
    np.testing.assert_array_equal(schedule.compile()(x, y), np.maximum(np.minimum(x, y), 7))


def _box(taps: int, start: int) -> ps.Kernel:
    """Sums of a square of bytes, in 32 bits as in C."""
    build = ps.KernelBuilder("box")
    n = build.parameter("n", minimum=1)
    x = build.input("x", ps.u8, (n + taps, n + taps))
    out, total = build.output("out", ps.u8, (n, n)), build.temporary("total", ps.i32, ())
    with build.loops(i=n, j=n) as (i, j):
        total[()] = start
        with build.loops(r=taps, s=taps) as (r, s):
            total[()] += ps.cast(x[i + r, j + s], ps.i32)
        out[i, j] = ps.cast(total[()] // (taps * taps), ps.u8)
    return build.kernel()


@pytest.mark.parametrize(
    ("taps", "start", "bits"), [(3, 0, 16), (16, 255, 16), (16, 256, 32), (17, 0, 32), (3, -1, 16)]
)
def test_sums_of_a_literal_number_of_bytes(taps: int, start: int, bits: int) -> None:
    """A sum starts where its variable is born, or where it is overwritten in a larger lifetime."""
    declared = ps.Schedule(_box(taps, start))
    privatized = declared.privatize("total", at="j")
    schedules = [privatized]
    if taps != 16 and start >= 0:  # as 17, which is one sum that is too large
        schedules.append(ps.optimize(declared, "znver4", sizes={"n": 400}))
    for schedule in schedules:
        loops = narrow_integers(lower(schedule))
        statements = [node for node in walk(loops.body) if isinstance(node, Assign)]
        totals = {name for node in statements for name in node.arrays if "total" in name}
        if taps == 3 or schedule is privatized:
            assert {loops.arrays[name].dtype.bits for name in totals} == {bits}
        x = np.full((20 + taps, 20 + taps), 255, "u1")
        x[:9] = np.random.default_rng(0).integers(0, 256, (9, 20 + taps))
        window = np.lib.stride_tricks.sliding_window_view(x, (taps, taps))[:20, :20]
        wanted = (window.sum(axis=(2, 3), dtype="i4") + start) // (taps * taps)
        np.testing.assert_array_equal(schedule.compile()(x), wanted.astype("u1"))


@pytest.mark.parametrize(
    ("comparison", "expected"),
    [
        ("0.1 < 0.5", 1),
        ("0.5f > 0.1", 1),
        ("1e-3f == 0.5f", 0),
        ("0.9 >= 0.1", 1),
        ("1e300 > 2", 1),
    ],
)
def test_literals_that_are_not_integers_are_not_narrowed(comparison: str, expected: int) -> None:
    """A truncated literal would compare 0 with 0."""
    text = f"long f(long n) {{ long whole = {comparison}; return whole + n; }}"
    kernel = parse_c(text).kernel
    run = ps.compile(kernel)
    for n in (0, 5):
        assert run(n=n) == expected + n
