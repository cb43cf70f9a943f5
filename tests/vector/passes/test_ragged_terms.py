"""Rows of terms whose length is no multiple of an instruction's terms."""

from __future__ import annotations

import pytest

import polysched as ps
from polysched.ir.expr.dtypes import DType
from tests.support.differential import assert_agrees


def parts(dtype: DType, lanes: int, terms: int, instruction: str) -> ps.Schedule:
    """Sums of the lanes of a row, one block of lanes after the other."""
    build = ps.KernelBuilder("parts")
    n = build.parameter("n")
    x, y = build.input("x", dtype, (n,)), build.input("y", dtype, (n,))
    s = build.inout("s", ps.i32, (lanes,))
    with build.loops(k=n) as k:
        a, b = ps.cast(x[k], ps.i32), ps.cast(y[k], ps.i32)
        s[k // terms % lanes] += ps.absolute(a - b) if dtype == ps.u8 else a * b
    return (
        ps.Schedule(build.kernel())
        .split("k", lanes * terms, into=("block", "group"))
        .split("group", terms, into=("lane", "term"))
        .vectorize("lane", lanes)
        .unroll("term")
        .tensorize("lanev", instruction)
    )


@pytest.mark.parametrize(
    ("dtype", "lanes", "terms", "instruction"),
    [(ps.u8, 4, 8, "vpsadbw"), (ps.i16, 8, 2, "vpmaddwd")],
)
def test_whole_groups_use_the_instruction(
    dtype: DType, lanes: int, terms: int, instruction: str
) -> None:
    schedule = parts(dtype, lanes, terms, instruction)
    vectors = ps.show(schedule, "vector", "haswell-avx2")
    assert vectors.count(instruction) == 2, "whole blocks, and whole groups of the last block"
    block = lanes * terms
    sizes = ({"n": n} for n in (0, 1, terms, block - 1, block, 2 * block + terms + 1))
    assert_agrees(schedule, *sizes, machine="haswell-avx2")
