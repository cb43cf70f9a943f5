"""Vectors that overlap are made of one load and single elements."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from polysched.codegen.memory import Storage, element_offset
from polysched.codegen.module import emit_module
from polysched.codegen.neighbors import Contiguous, from_neighbors
from polysched.ir.builder import KernelBuilder
from polysched.ir.dtypes import DType, f32, f64, i16, i32
from polysched.ir.expressions import Index, Load
from polysched.ir.kernel import Role
from polysched.loops.interpreter import interpret
from polysched.loops.nodes import LoopProgram
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.kernel import compile_kernel
from polysched.schedule.schedule import Schedule
from tests.loops.programs import array, assign, load, program, vector
from tests.support.differential import NO_CACHE, assert_agrees, assert_equal

WIDE = load_machine("sapphirerapids")
GROUP, OTHER = Contiguous("x", ()), Contiguous("y", ())
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


def test_the_best_aligned_is_loaded_else_that_beside_the_store_else_the_middle() -> None:
    equal = [(GROUP, place, 8) for place in (0, 1, 2, 3)]
    assert from_neighbors(equal, None) == {GROUP: {0: 1, 1: 1, 3: -1}}
    assert from_neighbors(equal, (OTHER, 1, 8)) == {GROUP: {0: 1, 2: -1, 3: -1}}
    assert from_neighbors([*equal[:3], (GROUP, 3, 64)], (OTHER, 1, 8)) == {
        GROUP: {0: 1, 1: 1, 2: 1}
    }


def test_vectors_of_other_rows_are_another_group() -> None:
    """Whatever the literals: how far ``i`` and ``j`` are apart is not known."""
    i, j = Index("i"), Index("j")
    place = Storage(array("x", (9, 64), Role.INPUT, f64), None, (64, 1), 8)
    one, beside, other = (
        Contiguous.of("x", element_offset(place, subscripts, "v"))
        for subscripts in ((i, v), (i, v + 1), (j, v + 1))
    )
    assert one == beside
    assert one != other
    unknown = Storage(place.array, None, (i, 1), 8)
    groups = {
        Contiguous.of("x", element_offset(unknown, (row, v), "v")) for row in (i, i + 1, i, j)
    }
    assert len(groups) == 3


def test_vectors_two_elements_apart_are_loaded() -> None:
    assert from_neighbors([(GROUP, 0, 8), (GROUP, 2, 8)], None) == {}


@pytest.mark.parametrize("n", [1, 5, 7, 9, 15])
def test_parts_of_vectors(n: int) -> None:
    """The last active lane of a masked vector has no neighbor to take its element from."""
    build = KernelBuilder("sums")
    x, y = build.input("x", f64, (n + 2,)), build.output("y", f64, (n,))
    with build.loops(i=n) as i:
        y[i] = x[i] + 2 * x[i + 1] - x[i + 2]
    assert_agrees(Schedule(build.kernel()).vectorize("i", 8))


def test_groups_are_apart() -> None:
    places = from_neighbors([(GROUP, 0, 8), (OTHER, 1, 8), (OTHER, 2, 8)], None)
    assert GROUP not in places
    assert places[OTHER] == {1: 1}


def test_each_place_leads_to_one_that_is_loaded() -> None:
    run = range(-4, 5)
    steps = from_neighbors([(GROUP, place, 8) for place in run], None)[GROUP]
    for here, following in pairwise(run):
        assert steps.get(here, 1) == 1 or steps[following] == -1
    assert len(steps) == len(run) - 1
