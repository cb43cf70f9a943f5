"""Bytes looked up in tables that registers hold."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import polysched as ps
from polysched.machine.load import load_machine
from tests.library.transpose.fenced import fenced
from tests.support.differential import assert_agrees

LANES = {ps.u8: 64, ps.i8: 64, ps.i16: 32, ps.f32: 16, ps.i32: 16}


def _kernel(dtype: ps.DType, index: ps.DType = ps.u8, entries: int = 256) -> ps.Kernel:
    build = ps.KernelBuilder("lookup")
    n = build.parameter("n", minimum=0)
    x = build.input("x", index, (n,), values=(0, min(entries, index.highest + 1)))
    table = build.input("table", dtype, (entries,))
    out = build.output("out", dtype, (n,))
    with build.loops(i=n) as i:
        out[i] = table[x[i]]
    return build.kernel()


@pytest.mark.parametrize("dtype", LANES, ids=str)
def test_every_remainder(dtype: ps.DType) -> None:
    schedule = ps.Schedule(_kernel(dtype)).vectorize("i", LANES[dtype])
    vectors = schedule.show("vector", machine="znver4")
    assert vectors.count("lookup(") == 2
    run, choose = schedule.compile(), np.random.default_rng(0)
    kept, table = fenced((256,), dtype.numpy(), at_end=True)
    table[:] = choose.permutation(256).astype(dtype.numpy())
    for n, at_end in product((*range(LANES[dtype] + 3), 512), (False, True)):
        keep, x = fenced((n,), np.uint8, at_end=at_end)
        also, out = fenced((n,), dtype.numpy(), at_end=at_end)
        x[:] = choose.integers(0, 256, n) if n < 512 else np.arange(512) % 256
        run(x, table, n=n, out=out)
        np.testing.assert_array_equal(out, table[x])
        del keep, also
    del kept
    assert_agrees(schedule, {"n": 70})


@pytest.mark.parametrize(
    ("kernel", "lanes", "machine"),
    [
        (_kernel(ps.u8), 32, "znver4"),
        (_kernel(ps.f32), 8, "znver4"),
        (_kernel(ps.f64), 8, "znver4"),
        (_kernel(ps.u8), 64, "skylake-avx512"),
        (_kernel(ps.u8, entries=255), 64, "znver4"),
        (_kernel(ps.u8, ps.i8), 64, "znver4"),
        (_kernel(ps.u8, ps.u16), 64, "znver4"),
    ],
)
def test_other_gathers_stay(kernel: ps.Kernel, lanes: int, machine: str) -> None:
    text = ps.Schedule(kernel).vectorize("i", lanes).show("vector", machine=machine)
    assert "gather(" in text
    assert "lookup(" not in text


def test_a_table_that_is_written_stays_in_memory() -> None:
    build = ps.KernelBuilder("lookup")
    x, table = build.input("x", ps.u8, (64,), values=(0, 256)), build.inout("table", ps.u8, (256,))
    out = build.output("out", ps.u8, (64,))
    with build.loops(i=64) as i:
        out[i] = table[x[i]]
        table[i] = out[i]
    text = ps.Schedule(build.kernel()).distribute("i").vectorize("out.i", 64)
    assert "lookup(" not in text.show("vector", machine=load_machine("znver4"))
