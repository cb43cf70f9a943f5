"""Masks that are literal once a condition is: LLVM 22 must not see a masked store of one lane."""

import numpy as np

from polysched.frontends.scop import parse_c
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.expressions import Index
from polysched.ir.expr.functions import cast, maximum
from polysched.lower import compile, show
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees
from tests.support.effort import covering


def _narrowed(narrow: str, wide: str, size: int, *, is_reversed: bool = False) -> Schedule:
    """Under a condition that unrolling makes a literal, of a value narrowed before it is stored."""
    build = KernelBuilder("narrowed")
    x = build.input("x", wide, (size, size))
    y = build.inout("y", narrow, (size, size))
    with build.loops(i=size, j=(0, Index("i") + 1)) as (i, j), build.where((i + 2 * j) % 5 <= 1):
        y[i, size - 1 - j if is_reversed else j] = cast(maximum(x[i, j], 1), narrow)
    return Schedule(build.kernel())


@covering(
    2,
    machine=["host", "haswell-avx2"],
    is_reversed=[False, True],
    **{"narrow, wide": [("i8", "i32"), ("i16", "i32"), ("i32", "i64")]},
)
def test_one_lane_under_a_condition_writes_no_other(
    narrow: str, wide: str, is_reversed: bool, machine: str
) -> None:
    for size, lanes in ((4, 4), (9, 16)):
        schedule = _narrowed(narrow, wide, size, is_reversed=is_reversed)
        assert_agrees(schedule.vectorize("j", lanes).unroll("i"), machine=machine)


def test_a_literal_condition_is_no_code() -> None:
    schedule = _narrowed("i8", "i32", 4).vectorize("j", 4).unroll("i")
    text = show(schedule, "llvm", "znver5")
    assert "icmp" not in text
    assert "llvm.masked.store" not in text


@covering(
    2,
    machine=["host", "haswell-avx2"],
    **{"narrow, wide": [("i8", "i64"), ("i16", "i32"), ("u32", "i64"), ("i64", "i64")]},
)
def test_the_last_of_pairs_writes_no_other(narrow: str, wide: str, machine: str) -> None:
    """LLVM proves that one lane of two runs behind the last pair."""
    build = KernelBuilder("pairs")
    n = build.parameter("n", minimum=0)
    x, y = build.input("x", wide, (n + 1,)), build.inout("y", narrow, (n + 1,))
    with build.loops(i=n) as i:
        y[i] = cast(x[i] // 8, narrow)
    assert_agrees(Schedule(build.kernel()).vectorize("i", 2), {"n": 5}, {"n": 4}, machine=machine)


BOX = """
void box(int w, int h, const unsigned char in[restrict h][w], unsigned char out[restrict h][w])
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int s = 0, c = 0;
            for (int e = -1; e <= 1; e++)
                for (int d = -1; d <= 1; d++) {
                    if (y + e < 0 || y + e >= h || x + d < 0 || x + d >= w) continue;
                    s += in[y + e][x + d];
                    c++;
                }
            out[y][x] = s / c;
        }
}
"""


def test_a_mask_that_llvm_finds_to_be_one_lane_writes_no_other() -> None:
    """The branch for two columns or more tells LLVM that the other one has a single column."""
    schedule = Schedule(parse_c(BOX).kernel).split("s.x", 16, into=("xo", "xi"))
    for name in ("s", "c"):
        schedule = schedule.privatize(name, at="s.xi", into=f"{name}_lanes", order=("each_xi",))
    schedule = schedule.vectorize("s.xi", 16).unroll("s_2.e").unroll("s_2.d")
    memory = np.full(8, 99, np.uint8)
    compile(schedule)(np.full((1, 1), 8, np.uint8), memory[:1].reshape(1, 1))
    assert memory.tolist() == [8, *[99] * 7]
