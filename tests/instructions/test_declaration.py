"""Declared instructions: their shape, and what a declaration must not say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import polysched as ps
from polysched.errors import InstructionError
from polysched.instructions.x86 import x86_instructions

FULL = "llvm.x86.avx512.vpdpbusd.512"


def nest(
    lanes: int = 16, terms: int = 4, name: str = "mine", strides: tuple[int, int] | None = None
) -> ps.Kernel:
    build = ps.KernelBuilder(name)
    sums = build.inout("sums", ps.i32, (lanes,))
    a = build.input("a", ps.u8, (lanes, terms), strides=strides)
    b = build.input("b", ps.i8, (lanes, terms))
    with build.loops(lane=lanes, term=terms) as (lane, term):
        sums[lane] += ps.cast(a[lane, term], ps.i32) * ps.cast(b[lane, term], ps.i32)
    return build.kernel()


def tile() -> ps.Instruction:
    """An AMX product of bytes: the distances of rows are free."""
    build = ps.KernelBuilder("my_tdpbssd")
    distances = [build.parameter(f"row_{name}", minimum=64) for name in "abc"]
    c = build.inout("c", ps.i32, (16, 16), strides=(distances[2], 1))
    a = build.input("a", ps.i8, (16, 64), strides=(distances[0], 1))
    b = build.input("b", ps.i8, (16, 16, 4), strides=(distances[1], 4, 1))
    with build.loops(row=16, column=16, group=16, term=4) as (row, column, group, term):
        product = ps.cast(a[row, 4 * group + term], ps.i32) * ps.cast(
            b[group, column, term], ps.i32
        )
        c[row, column] += product
    features = ("amx-tile", "amx-int8")
    return ps.Instruction(build.kernel(), "llvm.x86.tdpbssd", ("c", "a", "b"), features)


def test_a_vector_of_sums() -> None:
    mine = ps.Instruction(nest(), FULL, ("sums", "a", "b"), ("avx512vnni",), ("a", "b"))
    assert mine.name == "mine"
    assert repr(mine) == "<Instruction mine: lane in 16, term in 4>"
    assert (mine.lane_dimensions, mine.term_dimensions) == (("lane",), ("term",))
    assert (mine.lanes, mine.terms, mine.updates) == (16, 4, True)
    (a,) = (load for load in mine.loads if load.array == "a")
    assert mine.strides(a) == {"lane": 4, "term": 1}


def test_a_tile() -> None:
    found = tile()
    assert found.lane_dimensions == ("row", "column")
    assert (found.lanes, found.terms) == (256, 64)
    strides = {load.array: found.strides(load) for load in found.loads}
    assert strides["a"] == {"row": None, "column": 0, "group": 4, "term": 1}
    assert strides["b"] == {"row": 0, "column": 4, "group": None, "term": 1}


def test_known_instructions() -> None:
    known = x86_instructions()
    assert sorted(known) == ["vdpbf16ps", "vpdpbusd", "vpdpwssd", "vpmaddwd"]
    for name, forms in known.items():
        assert {form.name for form in forms} == {name}
        assert {form.lanes for form in forms} == {4, 8, 16}


def two_statements() -> ps.Kernel:
    build = ps.KernelBuilder("mine")
    x, y = build.input("x", ps.i32, (4,)), build.output("y", ps.i32, (4,))
    with build.loops(lane=4) as lane:
        y[lane] = x[lane]
        y[lane] = x[lane] + 1
    return build.kernel()


def triangle() -> ps.Kernel:
    build = ps.KernelBuilder("mine")
    x, y = build.input("x", ps.i32, (4, 4)), build.inout("y", ps.i32, (4,))
    with build.loops(lane=4) as lane, build.loops(term=(0, lane + 1)) as term:
        y[lane] += x[lane, term]
    return build.kernel()


def overwritten() -> ps.Kernel:
    build = ps.KernelBuilder("mine")
    x, y = build.input("x", ps.i32, (4, 4)), build.inout("y", ps.i32, (4,))
    with build.loops(lane=4, term=4) as (lane, term):
        y[lane] = x[lane, term]
    return build.kernel()


def squares() -> ps.Kernel:
    build = ps.KernelBuilder("mine")
    x, y = build.input("x", ps.i32, (4, 4)), build.inout("y", ps.i32, (4,))
    with build.loops(lane=4, term=4) as (lane, term):
        y[lane] += x[lane, term] * x[lane, term]
    return build.kernel()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ps.Instruction(4, FULL, ()),
            "Instruction(...) of a int; expected a Kernel, the loop nest that the instruction "
            "computes",
        ),
        (
            lambda: ps.Instruction(two_statements(), FULL, ("x",)),
            "instruction 'mine': its kernel has the statements y, y_2; expected one statement",
        ),
        (
            lambda: ps.Instruction(triangle(), FULL, ("y", "x")),
            "instruction 'mine': its loops must run from 0 to literal ends, without conditions",
        ),
        (
            lambda: ps.Instruction(overwritten(), FULL, ("x",)),
            "instruction 'mine': each iteration of 'term' overwrites y[lane]; expected a sum such "
            "as sums[lane] += a[lane, term]",
        ),
        (
            lambda: ps.Instruction(squares(), FULL, ("y", "x")),
            "instruction 'mine': its statement reads array 'x' twice; expected once",
        ),
        (
            lambda: ps.Instruction(nest(), FULL, ("sums", "a")),
            "instruction 'mine': operands=('sums', 'a'); expected each array that the statement "
            "reads, once: sums, a, b (the target 'sums' may be left out)",
        ),
        (
            lambda: ps.Instruction(nest(), FULL, "ab"),
            "instruction 'mine': operands='ab'; expected a tuple of names",
        ),
        (
            lambda: ps.Instruction(nest(), FULL, ("sums", "a", "b"), ("avx512vni",)),
            "instruction 'mine': no processor feature is called 'avx512vni'; did you mean "
            "'avx512vnni', 'avx512vbmi' or 'avx512vl'?",
        ),
        (
            lambda: ps.Instruction(nest(), FULL, ("sums", "a", "b"), (), ("c",)),
            "instruction 'mine': broadcast names 'c'; known are 'a', 'b'; expected an input array",
        ),
        (
            lambda: ps.Instruction(nest(), "vpdpbusd", ("sums", "a", "b")),
            "instruction 'mine': intrinsic='vpdpbusd'; expected the name of an LLVM intrinsic, "
            "such as 'llvm.x86.avx512.vpdpbusd.512'",
        ),
        (
            lambda: ps.Instruction(nest(1024, 128), FULL, ("sums", "a", "b")),
            "instruction 'mine': its nest has 131072 iterations; expected at most 65536",
        ),
    ],
)
def test_refused(make: Callable[[], ps.Instruction], message: str) -> None:
    with pytest.raises(InstructionError) as caught:
        make()
    assert str(caught.value) == message
