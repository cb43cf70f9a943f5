import numpy as np
import pytest
from llvmlite import ir

import polysched as ps
from polysched.llvm.builder import pacing
from polysched.llvm.builder.pacing import Pace
from polysched.llvm.emit.module import emit_module
from polysched.lower import lower
from polysched.machine.load import load_machine
from polysched.runtime.cache import ObjectCache

FENCE = 'fence syncscope("singlethread") acq_rel'


def new_builder() -> ir.IRBuilder:
    type_ = ir.FunctionType(ir.VoidType(), [ir.PointerType(), ir.PointerType()])
    function = ir.Function(ir.Module(), type_, "f")
    return ir.IRBuilder(function.append_basic_block())


def fences(builder: ir.IRBuilder) -> int:
    return str(builder.function).count(FENCE)


def test_a_fence_after_so_many_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "MOST_ADDRESSES", 3)
    builder = new_builder()
    pace = Pace(builder)
    x, y = builder.function.args
    for base, displacement in ((x, 0), (x, 4), (x, 4), (x, 0)):
        pace.touch(base, displacement)
        pace.rest()
    assert fences(builder) == 0
    pace.touch(y, 4)
    assert fences(builder) == 0
    pace.rest()
    pace.rest()
    assert fences(builder) == 1
    pace.touch(y, 4)
    pace.rest()
    assert fences(builder) == 1


def test_another_block_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "MOST_ADDRESSES", 2)
    builder = new_builder()
    pace = Pace(builder)
    x, y = builder.function.args
    pace.touch(x, 0)
    with builder.if_then(ir.IntType(1)(1)):
        pace.touch(x, 4)
        pace.rest()
    pace.touch(y, 0)
    pace.rest()
    assert fences(builder) == 0


def in_place(count: int) -> ps.Schedule:
    build = ps.KernelBuilder("in_place")
    x = build.inout("x", ps.f32, (count + 1,))
    with build.loops(i=count) as i:
        x[i] = 2 * x[i + 1] + x[i]
    return ps.Schedule(build.kernel()).unroll("i")


@pytest.mark.parametrize(("count", "expected"), [(100, 0), (400, 2)])
def test_only_long_code_has_fences(count: int, expected: int) -> None:
    assert emit_module(lower(in_place(count)), load_machine()).count(FENCE) == expected


def test_long_code_with_fences_is_right() -> None:
    """Without fences LLVM takes some 1.5 s, and four times that for twice as much."""
    run = ps.compile(in_place(1000), cache=ObjectCache(None))
    x = np.arange(1001, dtype="f4")
    expected = np.append(2 * x[1:] + x[:-1], x[-1])
    run(x)
    np.testing.assert_array_equal(x, expected)


def gathered(count: int) -> ps.Schedule:
    build = ps.KernelBuilder("gathered")
    x = build.input("x", ps.f32, (count * 8,))
    y = build.output("y", ps.f32, (count,))
    with build.loops(i=count) as i:
        y[i] = x[8 * i]
    return ps.Schedule(build.kernel()).vectorize("i", 8).unroll("i")


def test_lanes_far_apart_are_accesses_of_their_own() -> None:
    assert emit_module(lower(gathered(160)), load_machine()).count(FENCE) == 0
    assert emit_module(lower(gathered(240)), load_machine()).count(FENCE) == 1


def test_copies_that_gather_the_same_lanes_need_no_fence() -> None:
    """LLVM merges equal gathers, unless a fence stands between them."""
    build = ps.KernelBuilder("repeated")
    n, x = build.parameter("n", minimum=1), build.input("x", ps.f32, (80,))
    z, y = build.input("z", ps.f32, (40,)), build.output("y", ps.f32, (n, 40, 8))
    with build.loops(m=n, i=40, j=8) as (m, i, j):
        y[m, i, j] = x[10 * j] * z[i]
    schedule = ps.Schedule(build.kernel()).vectorize("j", 8).unroll("i")
    module = emit_module(lower(schedule), load_machine())
    assert module.count('call <8 x float> @"llvm.masked.gather') > 1
    assert module.count(FENCE) == 0
