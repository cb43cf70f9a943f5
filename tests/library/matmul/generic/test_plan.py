"""Plans: each product of two elements is added once, on every machine."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polysched as ps
from polysched.library.matmul.generic.blocks import Block, DotBlock, StreamBlock, TileBlock
from polysched.library.matmul.generic.plan import (
    OUT,
    SCRATCH,
    GenericPlan,
    Planner,
    Step,
)
from polysched.library.matmul.generic.strided import Strided
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from tests.support.effort import cases, sampled

MACHINES = ("skylake-avx512", "haswell-avx2")


def run(plan: GenericPlan, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:  # type: ignore[type-arg]
    """Do what the plan says, element by element, in flat memories."""
    for part in plan.parts:
        scratch = np.full(plan.scratch, np.nan)
        for step in part:
            memories = [(a, b)[plan.is_swapped], (b, a)[plan.is_swapped], out, scratch]
            _step(step, memories)


@cache
def parameters_of(block: Block) -> tuple[str, ...]:
    return block.schedule().kernel.parameters


def _step(step: Step, memories: Sequence[np.ndarray]) -> None:  # type: ignore[type-arg]
    block = step.block
    given_parameters = dict(zip(parameters_of(block), step.parameters, strict=True))
    views = [memories[at][start:] for at, start in zip(step.arrays, step.starts, strict=True)]
    terms = given_parameters.get("terms", 0)

    def matrix(memory: np.ndarray, shape: tuple[int, int], strides: tuple[int, int]) -> np.ndarray:  # type: ignore[type-arg]
        assert sum((e - 1) * s for e, s in zip(shape, strides, strict=True)) < len(memory)
        return np.lib.stride_tricks.as_strided(memory, shape, [8 * s for s in strides])

    if not isinstance(block, DotBlock | StreamBlock | TileBlock):
        columns, row, out_row = (given_parameters[x] for x in ("columns", "b_row", "out_row"))
        assert row >= terms
        assert out_row >= columns
        copy = matrix(views[1], (terms, columns), (out_row, 1))
        copy[:] = matrix(views[0], (columns, terms), (row, 1)).T
        return
    m = block.rows * given_parameters.get("tiles", 1)
    m += (block.rows - 1) * given_parameters.get("lower", 0)
    n = block.columns * given_parameters["panels"] - given_parameters.get("missing", 0)
    if isinstance(block, StreamBlock):
        terms = block.group * given_parameters["groups"]
    a_strides = (given_parameters["a_row"], given_parameters.get("a_term", 1))
    row, out_row = given_parameters["b_row"], given_parameters["out_row"]
    if isinstance(block, DotBlock):
        assert min(row, a_strides[0]) >= terms >= block.lanes
        b = matrix(views[1], (n, terms), (row, 1)).T
    else:
        assert min(row, out_row) >= n
        b = matrix(views[1], (terms, n), (row, 1))
    a = matrix(views[0], (m, terms), a_strides)
    out = matrix(views[2], (m, n), (out_row, given_parameters.get("out_column", 1)))
    if given_parameters["first"]:
        out[:] = 0
    out += a @ b


def _with_small_caches(name: str) -> Machine:
    """A machine for which small operands come from memory."""
    machine = load_machine(name)
    caches = tuple(replace(cache, bytes=cache.bytes >> 10) for cache in machine.caches)
    return replace(machine, caches=caches)


sizes = st.one_of(st.integers(1, 70), st.integers(1, 400))


@pytest.mark.parametrize("machine", MACHINES)
@settings(max_examples=cases(25))
@given(sizes, sizes, sizes, st.tuples(*[st.booleans()] * 3), st.sampled_from([1, 3]), st.booleans())
def test_a_plan_computes_the_product(
    machine: str, m: int, n: int, k: int, transposed: tuple[bool, ...], threads: int, small: bool
) -> None:
    host = _with_small_caches(machine) if small else load_machine(machine)
    rng = np.random.default_rng(m + n + k)
    arrays = [rng.integers(-8, 8, shape).astype(float) for shape in ((m, k), (k, n), (m, n))]
    strides = []
    flat = []
    for array, turned in zip(arrays, transposed, strict=True):
        rows, columns = array.shape
        flat.append(np.ravel(array, "F" if turned else "C"))
        strides += [1, rows] if turned and columns > 1 else [columns, 1]
    product = Strided(m, n, k, *strides)
    plan = Planner(host, ps.f64).plan(product, threads)
    if plan is None:
        assert transposed[2]
        return
    out = np.full(m * n, np.nan)
    run(plan, flat[0], flat[1], out)
    found = out.reshape((n, m)).T if transposed[2] and n > 1 else out.reshape(m, n)
    np.testing.assert_array_equal(found, arrays[0] @ arrays[1])


@pytest.mark.parametrize("machine", MACHINES)
def test_streamed_panels_cover_all_columns(machine: str) -> None:
    planner = Planner(_with_small_caches(machine), ps.f64)
    for m in sampled(range(1, 10), 2):
        for n in range(128, 192, 21):
            plan = planner.plan(Strided(m, n, 17, 17, 1, n, 1, n, 1), 1)
            assert plan is not None
            assert m > 8 or isinstance(plan.parts[0][0].block, StreamBlock)
            out = np.full(m * n, np.nan)
            run(plan, np.ones(m * 17), np.ones(17 * n), out)
            assert (out == 17).all()


def test_a_long_product_has_parts_for_all_threads() -> None:
    product = Strided(300, 900, 500, 500, 1, 900, 1, 900, 1)
    assert len(Planner(load_machine("skylake-avx512"), ps.f64).plan(product, 1).parts) == 1  # type: ignore[union-attr]
    assert len(Planner(load_machine("skylake-avx512"), ps.f64).plan(product, 2).parts) >= 2  # type: ignore[union-attr]


def test_gaps_in_rows_and_columns_need_other_kernels() -> None:
    product = Strided(30, 90, 50, 50, 1, 180, 2, 90, 1)
    assert Planner(load_machine("skylake-avx512"), ps.f64).plan(product, 1) is None


def test_arrays_have_numbers() -> None:
    assert (OUT, SCRATCH) == (2, 3)


@pytest.mark.parametrize("machine", MACHINES)
def test_no_tile_is_much_lower_than_the_others(machine: str) -> None:
    for m in range(20, 120, 7):
        product = Strided(m, 500, 3000, 3000, 1, 500, 1, 500, 1)
        plan = Planner(load_machine(machine), ps.f64).plan(product, 1)
        assert plan is not None
        rows = {
            (s.block.vectors, s.block.rows) for s in plan.parts[0] if isinstance(s.block, TileBlock)
        }
        for vectors in {width for width, _ in rows}:
            heights = [height for width, height in rows if width == vectors]
            assert max(heights) - min(heights) <= 2
