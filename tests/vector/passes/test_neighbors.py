"""Vectors that overlap are made of one load and single elements."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from polysched.ir.core.kernel import Role
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, f32, f64, i16, i32
from polysched.ir.expr.expressions import Index, Load
from polysched.llvm.emit.module import emit_module
from polysched.loops.ir.nodes import LoopProgram
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.compiling import compile_kernel
from polysched.schedule.schedule import Schedule
from polysched.vector.passes.neighbors import choose_loads
from polysched.vector.values import Access, Address, Uniform
from tests.loops.programs import array, assign, load, program, vector
from tests.support.differential import NO_CACHE, assert_agrees, assert_equal
from tests.support.interpreting import interpret

WIDE = load_machine("sapphirerapids")
v = Index("v")


def stencil(places: list[int], lanes: int = 8, dtype: DType = f64) -> LoopProgram:
    """Sums of what lies at so many places beside an element."""
    arrays = [array("x", (64,), Role.INPUT, dtype), array("y", (64,), Role.OUTPUT, dtype)]
    terms: list[Load] = [load("x", v + (16 + place), dtype=dtype) for place in places]
    value = sum(terms[1:], start=terms[0])
    summed = assign("y", (v + 16,), value)
    body = replace(vector("v", 0, lanes, summed), lanes=lanes)
    return program(arrays, body, context="{ : }")


def loads_of_vectors(made: LoopProgram, lanes: int, element: str, machine: Machine = WIDE) -> int:
    """At how many places vectors are loaded; LLVM makes those at one place one."""
    text = emit_module(made, machine)
    offsets = dict(re.findall(r'%(\S+) = getelementptr i8, ptr %"x", i64 (\d+)', text))
    loaded = re.findall(rf"load <{lanes} x {element}>, ptr %([^\s,]+)", text)
    return len({offsets[pointer] for pointer in loaded})


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([0], 1),
        ([0, 1], 1),
        ([-1, 0, 1], 1),
        ([1, 0, -1, -2, 2], 1),
        ([0, 2], 2),
        ([-8, 0, 8], 3),
        ([-3, -2, 4, 5], 2),
    ],
)
def test_one_load_for_each_run_of_neighbors(places: list[int], expected: int) -> None:
    assert loads_of_vectors(stencil(places), 8, "double") == expected


@pytest.mark.parametrize(
    ("dtype", "lanes", "element"), [(f64, 4, "double"), (f32, 8, "float"), (i16, 32, "i16")]
)
def test_short_vectors_and_short_elements_are_loaded(
    dtype: DType, lanes: int, element: str
) -> None:
    assert loads_of_vectors(stencil([0, 1], lanes, dtype), lanes, element) == 2


def test_without_the_shuffle_all_are_loaded() -> None:
    assert loads_of_vectors(stencil([-1, 0, 1]), 8, "double", load_machine("haswell-avx2")) == 3


@pytest.mark.parametrize("places", [[0, 1], [-1, 0, 1], [3, 2, 1, 0, -1, -2, -3], [-5, -4, 7, 8]])
@pytest.mark.parametrize(("dtype", "lanes"), [(f64, 8), (f64, 16), (f32, 16), (i32, 32)])
def test_same_results(places: list[int], dtype: DType, lanes: int) -> None:
    made = stencil(places, lanes, dtype)
    given = {
        "x": np.arange(64).astype(dtype.numpy()) ** 2,
        "y": np.zeros(64, dtype.numpy()),
    }
    expected = interpret(made, given, {})
    host = load_machine(None)
    compile_kernel(made, emit_module(made, host), host, cache=NO_CACHE)(**given)
    assert_equal(given, expected, "machine code")


def access(place: int, row: str = "x", alignment: int = 8, term: str = "i") -> Access:
    address = Address(row, ((Index(term), 64),), place)
    return Access(address, Uniform.CONTIGUOUS, alignment)


def row(name: str = "x") -> Address:
    return access(0, name).address


def test_the_best_aligned_is_loaded_else_that_beside_the_store_else_the_middle() -> None:
    equal = [access(place) for place in (0, 1, 2, 3)]
    assert choose_loads(equal, None) == {row(): {0: 1, 1: 1, 3: -1}}
    assert choose_loads(equal, access(1, "y")) == {row(): {0: 1, 2: -1, 3: -1}}
    best = [*equal[:3], access(3, alignment=64)]
    assert choose_loads(best, access(1, "y")) == {row(): {0: 1, 1: 1, 2: 1}}


def test_vectors_of_other_rows_are_another_group() -> None:
    """The distance of ``i`` and ``j`` is not known."""
    assert choose_loads([access(0), access(1, term="j")], None) == {}
    scaled = [
        Access(Address("x", (), place, ((0, Index(name)),)), Uniform.CONTIGUOUS, 8)
        for place, name in ((0, "i"), (1, "i"), (2, "j"))
    ]
    assert list(choose_loads(scaled, None).values()) == [{0: 1}]


def test_vectors_two_elements_apart_are_loaded() -> None:
    assert choose_loads([access(0), access(2)], None) == {}


@pytest.mark.parametrize("n", [1, 5, 7, 9, 15])
def test_parts_of_vectors(n: int) -> None:
    """The last active lane of a masked vector has no neighbor to take its element from."""
    build = KernelBuilder("sums")
    x, y = build.input("x", f64, (n + 2,)), build.output("y", f64, (n,))
    with build.loops(i=n) as i:
        y[i] = x[i] + 2 * x[i + 1] - x[i + 2]
    assert_agrees(Schedule(build.kernel()).vectorize("i", 8))


def test_arrays_are_apart() -> None:
    assert choose_loads([access(0), access(1, "y"), access(2, "y")], None) == {row("y"): {1: 1}}


def test_each_place_leads_to_one_that_is_loaded() -> None:
    run = range(-4, 5)
    steps = choose_loads([access(place) for place in run], None)[row()]
    for here, following in pairwise(run):
        assert steps.get(here, 1) == 1 or steps[following] == -1
    assert len(steps) == len(run) - 1
