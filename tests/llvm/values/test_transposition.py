"""Transposed tiles as machine code: the right columns, by the instructions that are meant."""

from __future__ import annotations

import pytest

from polysched.inspect.assembly import Function, Loop, parse
from polysched.ir.core.tree import TransposeStrategy
from polysched.ir.expr.dtypes import DType, f32, f64, i32, u8, u16
from polysched.lower import show
from polysched.schedule.schedule import Schedule
from polysched.vector.passes.tile_writing import transposition
from tests.support import kernels

AVX512, AVX2 = "skylake-avx512", "haswell-avx2"


def whole_tiles(
    dtype: DType, lanes: int, strategy: str = "network", *, stores: bool = False
) -> Schedule:
    """``y[j, i] = x[i, j]`` of sizes without partial tiles."""
    across, along = ("j", "i") if stores else ("i", "j")
    return (
        Schedule(kernels.transpose(4 * lanes, 4 * lanes, dtype))
        .tile(("i", "j"), (lanes, lanes))
        .reorder(f"{along}i", f"{across}i")
        .vectorize(f"{across}i", lanes)
        .unroll(f"{along}i")
        .transpose(f"{across}iv", f"{along}i", strategy)
    )


def innermost(schedule: Schedule, machine: str) -> tuple[Loop, Function]:
    function, *_ = parse(show(schedule, "asm", machine))
    (loop,) = (loop for loop in function.loops if loop.is_innermost)
    return loop, function


def shuffles(loop: Loop) -> set[str]:
    """The shuffle instructions of a loop, without the suffixes that only say the type."""
    moves = ("vmov", "vpxor", "vbroadcast")
    return {
        one.mnemonic.rstrip("sdqx")
        for one in loop.body
        if one.mnemonic.startswith("v") and not one.mnemonic.startswith(moves)
    }


@pytest.mark.parametrize("stores", [False, True])
@pytest.mark.parametrize("dtype", [f32, i32])
def test_tile_of_16_by_16(dtype: DType, stores: bool) -> None:
    """64 shuffles, all unpacks within 128 bits or permutations of 128-bit parts."""
    loop, _ = innermost(whole_tiles(dtype, 16, stores=stores), AVX512)
    counts = loop.counts
    assert (counts.shuffles, counts.vector_loads, counts.vector_stores) == (64, 16, 16)
    assert (counts.gathers, counts.scatters, counts.spills, counts.masked) == (0, 0, 0, 0)
    assert counts.widest_register == "zmm"
    used = shuffles(loop)
    assert all("unpck" in one or one.startswith(("vshuff", "vshufi")) for one in used), used


@pytest.mark.parametrize(
    ("dtype", "lanes", "machine", "fences"),
    [(f32, 16, AVX512, 16), (u8, 16, AVX512, 48), (u16, 32, AVX512, 32), (f32, 8, AVX2, 0)],
)
def test_stages_are_fenced_where_registers_are_left(
    dtype: DType, lanes: int, machine: str, fences: int
) -> None:
    text = show(whole_tiles(dtype, lanes), "llvm", machine)
    assert text.count("call <") == fences


@pytest.mark.parametrize(
    ("dtype", "lanes", "machine", "count", "vectors"),
    [(f64, 8, AVX512, 24, 8), (f32, 8, AVX2, 24, 8), (f64, 4, AVX2, 8, 4)],
)
def test_small_tiles(dtype: DType, lanes: int, machine: str, count: int, vectors: int) -> None:
    counts = innermost(whole_tiles(dtype, lanes), machine)[0].counts
    assert (counts.shuffles, counts.vector_loads, counts.vector_stores) == (count, vectors, vectors)
    assert (counts.gathers, counts.spills) == (0, 0)


@pytest.mark.parametrize(("dtype", "lanes", "machine"), [(u16, 32, AVX512), (u8, 64, AVX512)])
def test_tiles_of_small_elements_go_through_registers_in_parts(
    dtype: DType, lanes: int, machine: str
) -> None:
    """16 columns at a time: rows come in by loads that insert, no vector is spilled."""
    loop, function = innermost(whole_tiles(dtype, lanes), machine)
    counts = loop.counts
    network, joins = 4 * lanes, lanes * lanes // 16 - lanes
    assert counts.shuffles <= network + joins
    assert counts.gathers == 0
    spilled = [
        one
        for one in loop.body
        if one.memory is not None
        and one.memory.base in function.frame
        and "mm" in str(one.operands)
    ]
    assert not spilled


@pytest.mark.parametrize("strategy", ["gather", "eltwise"])
def test_other_strategies_are_what_they_say(strategy: str) -> None:
    counts = innermost(whole_tiles(f32, 16, strategy), AVX512)[0].counts
    assert (counts.gathers > 0) is (strategy == "gather")
    assert counts.shuffles != 64


def test_the_node_means_what_its_assignments_say() -> None:
    node = transposition("r", "c", (4, 2), i32, TransposeStrategy.NETWORK)
    assert (node.rows, node.columns, len(node.meaning.children)) == ("r", "c", 2)
