"""Selection of instructions on tiles: layouts, partial tiles, and what is refused."""

from __future__ import annotations

import re

import pytest

import polysched as ps
from polysched.errors import LoweringError
from polysched.lower import show
from tests.support.differential import assert_agrees


def product(
    a_strides: tuple[object, ...] | None = None,
    b_strides: tuple[object, ...] | None = None,
    build: ps.KernelBuilder | None = None,
) -> ps.Schedule:
    """One tile of products, with operands of any layout."""
    build = build or ps.KernelBuilder("product")
    a = build.input("a", ps.i8, (16, 64), strides=a_strides)  # type: ignore[arg-type]
    b = build.input("b", ps.i8, (16, 16, 4), strides=b_strides)  # type: ignore[arg-type]
    c = build.inout("c", ps.i32, (16, 16))
    with build.loops(m=16, n=16, g=16, t=4) as (m, n, g, t):
        c[m, n] += ps.cast(a[m, 4 * g + t], ps.i32) * ps.cast(b[g, n, t], ps.i32)
    schedule = ps.Schedule(build.kernel()).vectorize("n", 16).reorder("n", "m", "g", "t", "nv")
    return schedule.tensorize("m", "tdpbssd")


def test_rows_may_be_any_distance_apart() -> None:
    text = show(product((100, 1), (80, 4, 1)), "tiles", "sapphirerapids")
    assert "tile(a[0], 16 x 64, rows 100 apart)" in text
    assert "tile(b[0], 16 x 64, rows 80 apart)" in text


def test_distances_known_at_the_call_only() -> None:
    build = ps.KernelBuilder("product")
    distance = build.parameter("distance", minimum=64)
    schedule = product((distance, 1), None, build)
    assert "rows 1 of 0 apart" in show(schedule, "tiles", "sapphirerapids")
    assembly = show(schedule, "asm", "sapphirerapids")
    assert assembly.count("\ttileloadd") == 3


@pytest.mark.parametrize(
    ("a_strides", "b_strides", "message"),
    [
        (
            (200, 2),
            None,
            "array 'a', operand 'a' of tdpbssd: consecutive iterations of loop 'g' read elements "
            "that are 8 apart in memory; expected 4",
        ),
        (
            None,
            (128, 8, 1),
            "array 'b', operand 'b' of tdpbssd: consecutive iterations of loop 'nv' read elements "
            "that are 8 apart in memory; expected 4",
        ),
    ],
)
def test_elements_that_are_not_consecutive(
    a_strides: tuple[int, ...] | None, b_strides: tuple[int, ...] | None, message: str
) -> None:
    with pytest.raises(LoweringError, match=re.escape(message)):
        show(product(a_strides, b_strides), "tiles", "sapphirerapids")


def test_a_machine_without_tiles() -> None:
    with pytest.raises(LoweringError) as caught:
        show(product(), "tiles", "znver4")
    assert str(caught.value) == (
        "tensorize('m', 'tdpbssd'): machine 'znver4' lacks the instruction, which needs the "
        "feature 'amx-tile' and 'amx-int8'; compile for a machine that has it, or remove "
        "the tensorize step; exported code uses no AMX, code of ps.compile does"
    )


def test_rows_of_sums_that_overlap_are_no_tile() -> None:
    build = ps.KernelBuilder("sums")
    c = build.output("c", ps.i32, (31,))
    with build.loops(m=16, n=16) as (m, n):
        c[m + n] = 0
    schedule = ps.Schedule(build.kernel()).vectorize("n", 16).reorder("n", "m", "nv")
    with pytest.raises(
        LoweringError, match=r"loop 'nv', which is 'lane', must be in one subscript"
    ):
        show(schedule.tensorize("m", "tilezero"), "tiles", "sapphirerapids")


def test_sizes_known_at_the_call_only() -> None:
    """Whole tiles by the instruction, the rest by ordinary code."""
    build = ps.KernelBuilder("zeros")
    rows = build.parameter("rows")
    c = build.output("c", ps.i32, (rows, 16))
    with build.loops(m=rows, n=16) as (m, n):
        c[m, n] = 0
    schedule = ps.Schedule(build.kernel()).split("m", 16, into=("tile", "row")).vectorize("n", 16)
    schedule = schedule.reorder("tile", "n", "row", "nv").tensorize("row", "tilezero")
    text = show(schedule, "tiles", "sapphirerapids")
    assert text.count("tilezero()") == 1
    assert "vector 16: contiguous(c[" in text
    with pytest.raises(LoweringError, match="lacks the instruction"):
        assert_agrees(schedule, {"rows": 37}, machine="generic")
