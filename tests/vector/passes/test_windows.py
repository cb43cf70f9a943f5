"""Lanes at literal distances: whole vectors and shuffles in the place of gathers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.frontends.scop import parse_c
from polysched.lower import show
from tests.library.transpose.fenced import fenced
from tests.support.differential import assert_agrees
from tests.support.effort import covering

PLACES: dict[str, Callable[[Any], Any]] = {
    "every second": lambda i: 2 * i + 1,
    "every third": lambda i: 3 * i,
    "every fifth, too far": lambda i: 5 * i,
    "every seventh, too far": lambda i: 7 * i,
    "backwards": lambda i: 256 - 2 * i,
    "twice each": lambda i: i // 2,
    "again and again": lambda i: i % 4,
    "rows of four": lambda i: 8 * (i // 4) + i % 4,
}


def _gathering(place: Callable[[Any], Any], dtype: ps.DType, count: int) -> ps.Kernel:
    build = ps.KernelBuilder("windows")
    x = build.input("x", dtype, (1024,))
    out = build.output("out", dtype, (count,))
    with build.loops(i=count) as i:
        out[i] = x[place(i)]
    return build.kernel()


@covering(2, name=PLACES, lanes=[4, 16], dtype=[ps.f32, ps.f64, ps.i16])
def test_values(name: str, lanes: int, dtype: ps.DType) -> None:
    place, x = PLACES[name], np.arange(1024).astype(dtype.numpy())
    run = ps.Schedule(_gathering(place, dtype, 100)).vectorize("i", lanes).compile()
    np.testing.assert_array_equal(run(x), x[[place(i) for i in range(100)]])


def test_no_gather_where_few_vectors_hold_all() -> None:
    for name, place in PLACES.items():
        for dtype in (ps.f32, ps.i16):
            text = ps.Schedule(_gathering(place, dtype, 128)).vectorize("i", 16).show("llvm")
            is_far = "too far" in name and dtype is ps.f32
            assert ("gather" in text) == is_far, (name, dtype)


def test_two_collapsed_dimensions_are_one_vector() -> None:
    build = ps.KernelBuilder("collapsed")
    n = build.parameter("n", minimum=1)
    x = build.input("x", ps.f32, (n, 4, 4))
    out = build.output("out", ps.f32, (n, 4, 4))
    with build.loops(a=n, i=4, j=4) as (a, i, j):
        out[a, i, j] = 2 * x[a, i, j]
    schedule = ps.Schedule(build.kernel()).collapse("i", "j", "ij").vectorize("ij", 16)
    text = schedule.show("llvm")
    assert "gather" not in text
    assert "scatter" not in text
    values = np.random.default_rng(0).random((3, 4, 4)).astype("f4")
    np.testing.assert_array_equal(schedule.compile()(values), 2 * values)


def test_distances_that_depend_on_another_loop() -> None:
    """Of (j + lane) // 3 it depends on j which lanes share an element."""
    build = ps.KernelBuilder("windows")
    x, out = build.input("x", ps.f32, (99,)), build.output("out", ps.f32, (7, 64))
    with build.loops(j=7, i=64) as (j, i):
        out[j, i] = x[(j + i) // 3]
    schedule = ps.Schedule(build.kernel()).vectorize("i", 16)
    x_given = np.random.default_rng(0).random(99).astype("f4")
    wanted = x_given[np.add.outer(np.arange(7), np.arange(64)) // 3]
    np.testing.assert_array_equal(schedule.compile()(x_given), wanted)


SCATTERED: dict[str, Callable[[Any], Any]] = {
    "every second": lambda i: 2 * i + 1,
    "every third": lambda i: 3 * i,
    "every fifth, too far": lambda i: 5 * i,
    "backwards": lambda i: 512 - 2 * i,
    "rows of four": lambda i: 8 * (i // 4) + i % 4,
    "apart": lambda i: i + 20 * (i % 2),
}


def _scattering(place: Callable[[Any], Any], dtype: ps.DType, count: int) -> ps.Kernel:
    build = ps.KernelBuilder("windows")
    x = build.input("x", dtype, (count,))
    out = build.inout("out", dtype, (1024,))
    with build.loops(i=count) as i:
        out[place(i)] = x[i]
    return build.kernel()


@covering(2, name=SCATTERED, lanes=[4, 16], dtype=[ps.f32, ps.f64, ps.i16, ps.u8])
def test_stores_leave_what_lies_between(name: str, lanes: int, dtype: ps.DType) -> None:
    place, x = SCATTERED[name], np.arange(100).astype(dtype.numpy())
    out = np.arange(1024, 0, -1).astype(dtype.numpy())
    wanted = out.copy()
    for i in range(100):
        wanted[place(i)] = x[i]
    run = ps.Schedule(_scattering(place, dtype, 100)).vectorize("i", lanes).compile()
    run(x, out)
    np.testing.assert_array_equal(out, wanted)


def test_no_scatter_where_few_vectors_hold_all() -> None:
    for name, place in SCATTERED.items():
        text = ps.Schedule(_scattering(place, ps.f32, 128)).vectorize("i", 16).show("llvm")
        assert ("scatter" in text) == ("too far" in name), name


def test_stores_end_with_the_last_element() -> None:
    """An array of just these elements, in memory that ends there."""
    x, memory = np.arange(16, dtype="f4"), np.full(31 + 64, -1, dtype="f4")
    build = ps.KernelBuilder("windows")
    given, out = build.input("x", ps.f32, (16,)), build.inout("out", ps.f32, (31,))
    with build.loops(i=16) as i:
        out[2 * i] = given[i]
    ps.Schedule(build.kernel()).vectorize("i", 16).compile()(x, memory[:31])
    np.testing.assert_array_equal(memory[:31:2], x)
    assert (memory[1:31:2] == -1).all()
    assert (memory[31:] == -1).all()


def test_partial_sums_with_a_masked_tail_stay_in_registers() -> None:
    """What lies on the stack is read and written whole under a mask too, so that LLVM sees it."""
    build = ps.KernelBuilder("rows")
    n, d = build.parameter("n", minimum=0), build.parameter("d", minimum=16)
    q, s = build.input("q", ps.f32, (n, d)), build.output("s", ps.f32, (n,))
    with build.loops(i=n) as i, build.statement("zero"):
        s[i] = 0
    with build.loops(i=n, c=d) as (i, c), build.statement("sum", order="any"):
        s[i] += q[i, c]
    schedule = (
        ps.Schedule(build.kernel())
        .split("c", 16, into=("co", "cl"))
        .reorder("cl", "co")
        .rfactor("sum", "cl")
        .vectorize("cl", 16)
        .unroll("sum_combine.each_cl")
    )
    assert "llvm.masked.store" not in schedule.show("llvm")
    given = np.random.default_rng(0).integers(-9, 9, (5, 37)).astype("f4")
    np.testing.assert_array_equal(schedule.compile()(given), given.sum(axis=1))


def _pixels(dtype: ps.DType) -> ps.Kernel:
    """The sum of each three elements, and a copy of two of them."""
    build = ps.KernelBuilder("pixels")
    n = build.parameter("n", minimum=0)
    x = build.input("x", dtype, (3 * n,))
    out, copy = build.output("out", dtype, (n,)), build.output("copy", dtype, (2 * n,))
    with build.loops(i=n) as i:
        out[i] = x[3 * i] + x[3 * i + 1] + x[3 * i + 2]
        copy[2 * i + 1] = x[3 * i + 2]
        copy[2 * i] = x[3 * i + 1]
    return build.kernel()


@pytest.mark.parametrize("dtype", [ps.u8, ps.i16, ps.f32])
@pytest.mark.parametrize("lanes", [8, 64])
def test_every_remainder_reads_and_writes_nothing_outside(dtype: ps.DType, lanes: int) -> None:
    """The arrays end at a page that may not be touched; around the results nothing changes."""
    schedule = ps.Schedule(_pixels(dtype)).distribute("i")
    schedule = schedule.vectorize("out.i", lanes).vectorize("copy.i", lanes)
    schedule = schedule.vectorize("copy_2.i", lanes)
    text = schedule.show("llvm")
    assert "gather" not in text
    assert "scatter" not in text
    run, choose = schedule.compile(), np.random.default_rng(lanes)
    for n, at_end in product((*range(lanes + 3), 3 * lanes - 1), (False, True)):
        keep, x = fenced((3 * n,), dtype.numpy(), at_end=at_end)
        kept, out = fenced((n,), dtype.numpy(), at_end=at_end)
        also, copy = fenced((2 * n,), dtype.numpy(), at_end=at_end)
        x[:] = choose.integers(0, 256, 3 * n)
        run(x, n=n, out=out, copy=copy)
        rows = x.reshape(n, 3)
        np.testing.assert_array_equal(out, rows.sum(axis=1, dtype=dtype.numpy()))
        np.testing.assert_array_equal(copy.reshape(n, 2), rows[:, 1:])
        del keep, kept, also


def test_windows_share_their_vectors() -> None:
    text = ps.Schedule(_pixels(ps.f32)).distribute("i").vectorize("out.i", 16).show("vector")
    assert "[2, 5, 8, 11" in text


def test_windows_side_by_side_load_the_same_vectors() -> None:
    """Real and imaginary parts in turn: two vectors hold both, and are loaded once."""
    build = ps.KernelBuilder("parts")
    x = build.input("x", ps.f32, (256,))
    out = build.output("out", ps.f32, (128,))
    with build.loops(i=128) as i:
        out[i] = x[2 * i] - x[2 * i + 1]
    schedule = ps.Schedule(build.kernel()).vectorize("i", 16)
    assert schedule.show("vector").count("window(x[32*i], ") == 2
    values = np.random.default_rng(0).random(256).astype("f4")
    np.testing.assert_array_equal(schedule.compile()(values), values[::2] - values[1::2])


def test_windows_never_read_behind_the_last_element() -> None:
    """The last vector ends with the array: memory behind it may not exist."""
    build = ps.KernelBuilder("rows")
    n = build.parameter("n", minimum=1)
    x = build.input("x", ps.f32, (n, 3))
    out = build.output("out", ps.f32, (n,))
    with build.loops(i=n) as i:
        out[i] = x[i, 0] + 2 * x[i, 2]
    run = ps.Schedule(build.kernel()).vectorize("i", 16).compile()
    values = np.random.default_rng(0).random((48, 3)).astype("f4")
    np.testing.assert_array_equal(run(values), values[:, 0] + 2 * values[:, 2])


COLUMNS = """
void f(int n, const float a[restrict n][3][4], const float b[restrict 4][4],
       float c[restrict n][3][4])
{
    for (int v = 0; v < n; v++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 4; j++) {
                c[v][i][j] = 0;
                for (int k = 0; k < 4; k++)
                    c[v][i][j] += a[v][i][k] * b[k][j];
            }
}
"""


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_columns_of_small_matrices_share_vectors(lanes: int) -> None:
    """The last vector of the collapsed loop is partial: no element behind the array is read."""
    schedule = (
        ps.Schedule(parse_c(COLUMNS).kernel)
        .collapse("c.v", "c.i", "vi")
        .collapse("c.vi", "c.j", "vij")
        .vectorize("c.vij", lanes)
        .unroll("c_2.k")
    )
    assert_agrees(schedule, *({"n": n} for n in (1, 2, 3, 5)))


def test_windows_of_other_distances_share_vectors() -> None:
    """Means of 2 and of 4 neighbors: both need the same 4 vectors."""
    build = ps.KernelBuilder("windows")
    x, out = build.input("x", ps.f32, (1024,)), build.output("out", ps.f32, (100,))
    with build.loops(i=100) as i:
        out[i] = x[i // 2 + 3] * x[3 * i // 4 + 1]
    schedule = ps.Schedule(build.kernel()).split("i", 16).vectorize("ii", 16)
    assert_agrees(schedule, {})


WIDENED = """
void f(int n, const {element} x[restrict {step} * n + 9], {sum} y[restrict n], {sum} z[restrict n])
{{
    for (int i = 0; i < n; i++)
        y[i] = x[{step} * i + 1] - x[{step} * i + 3];
    for (int i = 0; i < n; i++)
        z[i] = ({sum})x[{step} * i + 2] * x[{step} * i] + x[{step} * i + 7];
}}
"""


@covering(
    2,
    element=["unsigned char", "signed char", "unsigned short", "short"],
    total=["short", "float"],
    **{"step, lanes": [(2, 16), (3, 8), (4, 4)]},
)
def test_every_second_element_is_half_of_a_wider_one(
    step: int, lanes: int, element: str, total: str
) -> None:
    kernel = parse_c(WIDENED.format(step=step, element=element, sum=total)).kernel
    schedule = ps.Schedule(kernel).split("y.i", 2 * lanes).vectorize("y.ii", lanes).unroll("y.ii")
    schedule = schedule.vectorize("z.i", lanes)
    values = np.random.default_rng(step).integers(-128, 256, step * 70 + 9)
    dtype = kernel.arrays["x"].dtype.numpy()
    for n in (lanes - 1, 2 * lanes, 70):
        given = {"x": values[: step * n + 9].astype(dtype)}
        assert_agrees(schedule, {"n": n}, given=given, interpreted=n > 20)


@pytest.mark.parametrize("machine", ["haswell-avx2", "znver4"])
def test_sums_of_every_second_byte_need_no_shuffle(machine: str) -> None:
    text = """
    void f(int n, const unsigned short x[restrict 2 * n], int y[restrict n])
    {
        for (int i = 0; i < n; i++)
            y[i] = x[2 * i] + x[2 * i + 1];
    }
    """
    schedule = ps.Schedule(parse_c(text).kernel).vectorize("i", 8)
    code = show(schedule, "asm", machine=machine)
    assert "vpsrld" in code
    assert code.count("pmovzx") <= 2  # in the remainder


_CONDITIONAL = """
void f(int n, const unsigned char *a, TYPE *x)
{
    for (int i = 0; i < n; i++) {
        if (a[i] > 99) x[3 * i + 1] = x[3 * i + 2] + a[i];
    }
}
"""


@covering(1, **{"name, dtype, lanes": [("unsigned char", np.uint8, 64), ("float", np.float32, 8)]})
def test_data_decide_which_lanes_run(name: str, dtype: Any, lanes: int) -> None:
    """Only pixels whose condition holds are read and written: the last may not exist."""
    kernel = parse_c(_CONDITIONAL.replace("TYPE", name), "f").kernel
    schedule = ps.Schedule(kernel).vectorize("i", lanes)
    assert "scatter" not in schedule.show("llvm")
    assert_agrees(schedule, {"n": 1}, {"n": lanes + 3})
    run, choose = schedule.compile(), np.random.default_rng(lanes)
    for n, some in product((1, 7, 64, 100), (0.0, 0.5, 1.0)):
        holds = choose.random(n) < some
        pixels = int(np.flatnonzero(holds).max(initial=-1)) + 1
        keep, x = fenced((3 * pixels,), dtype, at_end=True)
        x[:] = choose.integers(0, 100, 3 * pixels)
        a = np.where(holds, 120, 80).astype(np.uint8)
        wanted = x.copy()
        rows = wanted.reshape(pixels, 3)
        rows[holds[:pixels], 1] = rows[holds[:pixels], 2] + 120
        run(n=n, a=a, x=np.lib.stride_tricks.as_strided(x, (3 * n,)))
        np.testing.assert_array_equal(x, wanted)
        del keep
