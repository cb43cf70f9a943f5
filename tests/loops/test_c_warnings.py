"""Printed C is C99 and C++17, and compilers do not warn of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import polysched as ps
from polysched.frontends.scop import load_c
from polysched.ir.expr.expressions import Expression
from polysched.loops.printers.c import print_c
from polysched.lower import lower
from polysched.schedule.schedule import Schedule
from tests.loops.compiling import require_c_and_cpp

GALLERY = sorted((Path(__file__).parents[2] / "examples" / "gallery").glob("*.c"))
Value = Callable[[Expression, Expression], Expression]


def written(dtype: ps.DType, value: Value, *, arrays: str = "xyz", name: str = "f") -> Schedule:
    """A kernel with a parameter and an array that only its interface mentions."""
    build = ps.KernelBuilder(name)
    n, unused = build.parameter("n", minimum=1), build.parameter("unused", minimum=0)
    x, y, z = arrays
    first, second = build.input(x, dtype, (n, unused + 1)), build.input(y, dtype, (n,))
    build.input("idle", dtype, (n,))
    third = build.output(z, dtype, (n,))
    with build.loops(i=n) as i:
        third[i] = value(first[i, 0], second[i])
    return Schedule(build.kernel())


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (ps.u32, lambda x, y: ((x + y) & (x - y)) | (x * 3 + y) ^ (y << 2)),
        (ps.u8, lambda x, y: ((x + y) & ~(x - y)) % 7 + (y >> 3)),
        (ps.i64, lambda x, y: ((x & y) | 5) // (y & 3) - abs(x)),
        (ps.i16, lambda x, y: ps.select((x < y) & (y < 3) | (x < 2), x, -y)),
        (ps.i32, lambda x, y: ps.select(~(x < y) & ((y < 3) | ~(x < 3)) | (y < x), x, y)),
        (ps.i32, lambda x, y: ps.cast(~(x < y), "i32") + ps.cast((x < y) & (y < 3), "i32")),
        (ps.f32, lambda x, y: ps.select(x < y, ps.minimum(x, y), np.rint(x) + ps.sqrt(y))),
        (ps.f64, lambda x, y: ps.cast(ps.cast(np.fmin(x, -y), "u8"), "f64") + 1e300),
    ],
)
def test_operations(dtype: ps.DType, value: Value, tmp_path: Path) -> None:
    for schedule in (written(dtype, value), written(dtype, value).vectorize("i", 8)):
        require_c_and_cpp(print_c(lower(schedule)), tmp_path)


def test_names_that_only_cpp_or_the_library_takes(tmp_path: Path) -> None:
    for arrays in (("new", "class", "this"), ("sin", "roundf", "linux")):
        schedule = written(ps.f32, lambda x, y: np.sin(x) + y, arrays=arrays)  # type: ignore[arg-type]
        require_c_and_cpp(print_c(lower(schedule)), tmp_path)


def test_lanes_that_interfere_and_buffers_on_the_heap(tmp_path: Path) -> None:
    build = ps.KernelBuilder("moved")
    n = build.parameter("n", minimum=1)
    x, t = build.inout("x", ps.f32, (n + 4,)), build.temporary("t", ps.f32, (n, n))
    with build.loops(i=n, j=n) as (i, j), build.statement("T"):
        t[i, j] = x[j]
    with build.loops(k=n) as k, build.statement("X"):
        x[k] = x[k + 4] + t[k, k]
    schedule = Schedule(build.kernel()).vectorize("k", 8)
    text = print_c(lower(schedule))
    assert "lanes[8]" in text
    assert "workspace(" in text
    require_c_and_cpp(text, tmp_path)


@pytest.mark.parametrize("path", GALLERY[::4], ids=lambda path: path.stem)
def test_gallery(path: Path, tmp_path: Path) -> None:
    require_c_and_cpp(print_c(lower(Schedule(load_c(path).kernel))), tmp_path)
