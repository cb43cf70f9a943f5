"""Recurrences of integer extrema in the first lanes of vectors: which, and with which values."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polysched as ps
from polysched.lower import lower, show
from polysched.machine.presets import PRESETS
from polysched.schedule.schedule import Schedule
from polysched.vector.ir import Assign, Keep, VectorProgram, walk
from polysched.vector.pass_list import run_passes
from tests.support.differential import assert_agrees
from tests.support.effort import cases

MACHINE = PRESETS["sapphirerapids"]


def moved(schedule: Schedule, machine: ps.Machine = MACHINE) -> set[str]:
    """The registers that hold vectors although no loop is vectorized."""
    program = run_passes(lower(schedule), machine, last="chains")
    assert isinstance(program, VectorProgram)
    return {
        node.target.register.array
        for node in walk(program.body)
        if isinstance(node, Assign) and isinstance(node.target, Keep) and node.lanes is not None
    }


def row(dtype: ps.DType, form: str) -> ps.Kernel:
    """``h[j + 1] = f(h[j], x[j], y[j])``."""
    build = ps.KernelBuilder("row")
    n = build.parameter("n")
    x, y = build.input("x", dtype, (n,)), build.input("y", dtype, (n,))
    h = build.inout("h", dtype, (n + 1,))
    with build.loops(j=n) as j, build.statement("S"):
        h[j + 1] = {
            "extremum": lambda: ps.maximum(h[j] - 1, x[j]),
            "product": lambda: ps.maximum(h[j] * 3, x[j]),
            "sum": lambda: h[j] + ps.maximum(x[j], y[j]),
            "compared": lambda: ps.select(ps.maximum(h[j], y[j]) < x[j], x[j], y[j]),
            "selected": lambda: ps.select(x[j] < y[j], x[j], ps.maximum(h[j], y[j])),
        }[form]()
    return build.kernel()


@pytest.mark.parametrize(
    ("dtype", "form", "is_moved"),
    [
        (ps.i32, "extremum", True),
        (ps.u64, "extremum", True),
        (ps.f32, "extremum", False),  # a scalar float is in a vector register already
        (ps.i16, "extremum", False),
        (ps.i32, "product", False),  # no product in a chain is as fast in vectors
        (ps.i32, "sum", False),  # the extremum does not wait for the chain
        (ps.i32, "compared", False),  # a mask takes longer than flags
        (ps.i32, "selected", True),
    ],
)
def test_which_recurrences_move(dtype: ps.DType, form: str, is_moved: bool) -> None:
    schedule = Schedule(row(dtype, form))
    assert bool(moved(schedule)) == is_moved
    assert_agrees(schedule, {"n": 0}, {"n": 1}, {"n": 9})


def test_the_code_has_vector_extrema() -> None:
    assert "vpmaxsd" in show(Schedule(row(ps.i32, "extremum")), "asm", MACHINE)


def test_unrolled_sums_pass_through_no_scalar_register() -> None:
    build = ps.KernelBuilder("warped")
    n = build.parameter("n")
    x, y = build.input("x", ps.i32, (n,)), build.input("y", ps.i32, (n,))
    h = build.inout("h", ps.i32, (n + 1,))
    with build.loops(j=n) as j, build.statement("S"):
        h[j + 1] = ps.minimum(h[j], x[j]) + y[j]
    schedule = Schedule(build.kernel()).split("j", 4).unroll("ji")
    lines = show(schedule, "asm", MACHINE).splitlines()
    to_scalars = [line for line in lines if re.search(r"vmovd\s+%xmm\d+, %e", line)]
    assert not to_scalars
    assert_agrees(schedule, {"n": 0}, {"n": 3}, {"n": 9})


def test_a_machine_without_the_instructions_keeps_scalars() -> None:
    schedule = Schedule(row(ps.i64, "extremum"))
    assert not moved(schedule, PRESETS["haswell-avx2"])


EXTREME = [-(2**31), -(2**31) + 1, -1, 0, 1, 2, 7, 2**31 - 2, 2**31 - 1]


@st.composite
def recurrences(draw: st.DrawFn) -> ps.Kernel:
    """Two rows, whose elements are random expressions of the elements before."""
    dtype = draw(st.sampled_from([ps.i32, ps.u32, ps.i64, ps.u64]))
    build = ps.KernelBuilder("recurrence")
    n = build.parameter("n")
    x, y = build.input("x", dtype, (n,)), build.input("y", dtype, (n,))
    g, h = build.inout("g", dtype, (n + 1,)), build.inout("h", dtype, (n + 1,))
    sums = build.inout("sums", dtype, (n + 1,))

    def expression(leaves: list[ps.Expression], depth: int) -> ps.Expression:
        if depth == 0 or draw(st.integers(0, 3)) == 0:
            return draw(st.sampled_from(leaves))
        first, second = expression(leaves, depth - 1), expression(leaves, depth - 1)
        operation = draw(st.sampled_from(["min", "max", "min", "max", "+", "-", "&", "?"]))
        if operation == "?":
            left, right = draw(st.sampled_from(leaves)), draw(st.sampled_from(leaves))
            is_less = draw(st.booleans())
            condition = left < right if is_less else ps.equal(left, right)
            return ps.select(condition, first, second)
        return {
            "min": lambda: ps.minimum(first, second),
            "max": lambda: ps.maximum(first, second),
            "+": lambda: first + second,
            "-": lambda: first - second,
            "&": lambda: first & second,
        }[operation]()

    with build.loops(j=n) as j:
        leaves = [g[j], h[j], x[j], y[j], ps.cast(3, dtype)]
        with build.statement("S"):
            g[j + 1] = expression(leaves, 3)
        with build.statement("T"):
            h[j + 1] = expression([*leaves, g[j + 1]], 3)
        with build.statement("U"):
            sums[j + 1] = sums[j] + ps.maximum(h[j + 1], x[j])
    return build.kernel()


@settings(max_examples=cases(30))
@given(recurrences(), st.integers(0, 2**32))
def test_random_recurrences_with_extreme_values(kernel: ps.Kernel, seed: int) -> None:
    generator = np.random.default_rng(seed)
    contents = {
        name: generator.choice(EXTREME, 9 if name in "xy" else 10).astype(array.dtype.numpy())
        for name, array in kernel.arrays.items()
    }
    assert_agrees(Schedule(kernel), {"n": 9}, given=contents)
