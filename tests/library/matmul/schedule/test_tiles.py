"""Products on tiles of AMX: proved, interpreted, emulated; vectors on machines without AMX."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polysched as ps
from polysched.ir.expr.dtypes import DType
from polysched.library.matmul.dispatch.compiled import product_kernel
from polysched.library.matmul.kernel.declare import Sizes, Stack, matmul_kernel
from polysched.library.matmul.kernel.epilogue import PLAIN
from polysched.library.matmul.kernel.operands import Stored
from polysched.library.matmul.plan.planner import plan
from polysched.library.matmul.plan.problem import Problem
from polysched.library.matmul.plan.tiles import BLOCK_STEPS
from polysched.library.matmul.plan.vnni import vnni_layout_of
from polysched.library.matmul.schedule.build import matmul_schedule
from polysched.lower import limited_loops, show
from polysched.machine.description import Cache
from polysched.machine.load import load_machine
from polysched.runtime import jit
from polysched.user import Schedule
from polysched.vector.interpret import interpreter
from polysched.vector.pass_list import vector_program
from polysched.vector.verify import verify
from tests.support.amx import emulated
from tests.support.differential import AnyArray
from tests.support.effort import covering

AMX = load_machine("sapphirerapids")
WITHOUT = replace(
    AMX,
    features=AMX.features.replace("+amx", "-amx"),
    matrix_unit=None,
    name="sapphirerapids without amx",
)


def operands(problem: Problem, seed: int = 0) -> tuple[AnyArray, AnyArray]:
    """Both operands as stored, over the whole range of their type."""
    m, n, k, _ = problem.sizes
    generator, dtype = np.random.default_rng(seed), problem.dtype

    def stored(rows: int, columns: int, *, is_transposed: bool) -> AnyArray:
        shape = (columns, rows) if is_transposed else (rows, columns)
        if dtype.is_float:
            return generator.standard_normal(shape).astype(dtype.numpy())
        return generator.integers(dtype.lowest, dtype.highest + 1, shape).astype(dtype.numpy())

    return (
        stored(m, k, is_transposed=problem.transpose_a),
        stored(k, n, is_transposed=problem.transpose_b),
    )


def assert_is_product(problem: Problem, a: AnyArray, b: AnyArray, result: AnyArray) -> None:
    left = a.T if problem.transpose_a else a
    right = b.T if problem.transpose_b else b
    if not problem.dtype.is_float:
        exact = left.astype(np.int64) @ right.astype(np.int64)
        np.testing.assert_array_equal(result, exact.astype(np.int32))
        return
    exact = left.astype(np.float64) @ right.astype(np.float64)
    sums = np.abs(left.astype(np.float64)) @ np.abs(right.astype(np.float64))
    rounding = 2**-8 if problem.result == ps.bf16 else 0
    difference = np.abs(result.astype(np.float64) - exact)
    assert np.all(difference <= rounding * np.abs(exact) + 2**-22 * sums)


def scheduled(problem: Problem, threads: int = 1) -> Schedule:
    m, n, k, _ = problem.sizes
    kernel = matmul_kernel(m, n, k, dtype=problem.dtype, vnni=vnni_layout_of(problem, AMX))
    return matmul_schedule(kernel, plan(problem, AMX, threads), AMX)


@pytest.mark.parametrize("dtype", [ps.i8, ps.u8, ps.bf16], ids=str)
def test_plans(dtype: DType) -> None:
    problem = Problem(Sizes(64, 64, 64), dtype)
    assert plan(problem, AMX).tiles
    assert not plan(problem, WITHOUT).tiles
    for sizes in (Sizes(15, 64, 64), Sizes(64, 15, 64), Sizes(64, 64, 15)):
        assert not plan(replace(problem, sizes=sizes), AMX).tiles


def test_a_machine_without_tiles_has_the_next_best_instruction() -> None:
    problem = Problem(Sizes(64, 64, 64), ps.bf16)
    layout = vnni_layout_of(problem, WITHOUT)
    kernel = matmul_kernel(64, 64, 64, dtype=ps.bf16, vnni=layout)
    schedule = matmul_schedule(kernel, plan(problem, WITHOUT), WITHOUT)
    assembly = show(schedule, "asm", WITHOUT)
    assert "vdpbf16ps" in assembly
    assert "tile" not in assembly


@covering(
    1,
    threads=[1, 2],
    **{"dtype, product": [(ps.i8, "tdpbssd"), (ps.u8, "tdpbuud"), (ps.bf16, "tdpbf16ps")]},
)
def test_the_hot_loop_is_four_products_and_their_loads(
    dtype: DType, product: str, threads: int
) -> None:
    schedule = scheduled(Problem(Sizes(256, 256, 256), dtype), threads)
    assert schedule.check().is_legal
    assembly = show(schedule, "asm", AMX)
    kinds = ("tileloadd", product, "tilestored", "tilezero", "ldtilecfg")
    assert [assembly.count(f"\t{kind}") for kind in kinds] == [4, 4, 4, 4, 1]


@pytest.mark.parametrize("dtype", [ps.i8, ps.bf16], ids=str)
def test_the_interpreter_computes_the_product(dtype: DType) -> None:
    """Partial rows, columns and terms; the interpreter checks shapes and addresses."""
    problem = Problem(Sizes(17, 18, 70), dtype)
    schedule = scheduled(problem)
    assert schedule.check().is_legal
    vectors = vector_program(limited_loops(schedule), AMX)
    verify(vectors)
    a, b = operands(problem)
    given = {"a": a, "b": b, "out": np.zeros((17, 18), problem.total.numpy())}
    assert_is_product(problem, a, b, interpreter(vectors)(given, {})["out"])


@covering(
    1,
    dtype=[ps.i8, ps.bf16],
    **{
        "sizes, transposed, threads": [
            (Sizes(64, 96, 256), (False, False), 1),
            (Sizes(33, 65, 131), (False, False), 1),
            (Sizes(100, 17, 67), (True, False), 1),
            (Sizes(37, 41, 100), (False, True), 1),
            (Sizes(150, 170, 150), (False, False), 2),
            (Sizes(33, 20, 4200), (False, False), 2),
        ]
    },
)
def test_machine_code(
    dtype: DType,
    sizes: Sizes,
    transposed: tuple[bool, bool],
    threads: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = Problem(sizes, dtype, a=Stored(transposed[0]), b=Stored(transposed[1]))
    a, b = operands(problem)
    result = np.zeros(sizes[:2], problem.total.numpy())
    with emulated(monkeypatch) as (machine, counts):
        kernel = product_kernel(problem, (), PLAIN, threads, machine)
        options = {"threads": threads} if kernel.is_threaded else {}
        kernel(a=a, b=b, out=result, **options)
        every = -(-sizes.m // 16) * -(-sizes.n // 16) * -(-sizes.k * dtype.bytes // 64)
        assert counts["tdp"] in (0, every)
    assert_is_product(problem, a, b, result)


@pytest.mark.parametrize("dtype", [ps.i8, ps.bf16], ids=str)
def test_blocks(dtype: DType, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ``a`` that exceeds the L2 cache: blocks of terms and columns, the first one from zero."""
    terms = 64 * BLOCK_STEPS // dtype.bytes + 404
    problem = Problem(Sizes(40, 70, terms), dtype)
    a, b = operands(problem)
    result = np.full((40, 70), 77, problem.total.numpy())
    with emulated(monkeypatch) as (machine, counts):
        first, _, *others = machine.caches
        second = Cache(level=2, bytes=2**16, line=64, associativity=8, shared_by=1)
        small = replace(machine, caches=(first, second, *others))
        monkeypatch.setattr(jit, "detect_host", lambda: small)
        config = plan(problem, small)
        assert (config.n_block, config.k_block is None) == (32, False)
        product_kernel(problem, (), PLAIN, 1, small)(a=a, b=b, out=result)
        # A corner that is partial in all loops may be ordinary code.
        every = 3 * 5 * -(-terms * dtype.bytes // 64)
        assert counts["tdp"] == 0 or 0.95 * every <= counts["tdp"] <= every
    assert_is_product(problem, a, b, result)


def test_a_register_tile_rounds_its_own_sums() -> None:
    """Sums of bf16 products are not stored for the whole result before they are rounded."""
    problem = Problem(Sizes(100, 90, 64), ps.bf16, result=ps.bf16)
    machine = load_machine("sapphirerapids")
    kernel = matmul_kernel(
        100,
        90,
        64,
        dtype=ps.bf16,
        result=ps.bf16,
        vnni=vnni_layout_of(problem, machine),
    )
    schedule = matmul_schedule(kernel, plan(problem, machine), machine)
    assert schedule.check().is_legal
    shapes = {
        name: array.shape for name, array in schedule.program.arrays.items() if "sums" in name
    }
    assert [tuple(map(str, shape)) for shape in shapes.values()] == [("32", "32")]


@pytest.mark.parametrize("strides", [(1, 40), (120, 2)], ids=str)
def test_a_result_without_contiguous_rows(
    strides: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem(Sizes(40, 50, 70), ps.i8, strides_out=strides)
    a, b = operands(problem)
    memory = np.zeros(40 * 120, np.int32)
    result = np.lib.stride_tricks.as_strided(memory, (40, 50), (4 * strides[0], 4 * strides[1]))
    with emulated(monkeypatch) as (machine, _):
        product_kernel(problem, (), PLAIN, 1, machine)(a=a, b=b, out=result)
    assert_is_product(problem, a, b, result)


def test_a_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(Sizes(20, 33, 70, batch=2), ps.i8)
    generator = np.random.default_rng(5)
    a = generator.integers(-128, 128, (2, 20, 70)).astype(np.int8)
    b = generator.integers(-128, 128, (2, 70, 33)).astype(np.int8)
    result = np.zeros((2, 20, 33), np.int32)
    with emulated(monkeypatch) as (machine, _):
        product_kernel(problem, (Stack(2),), PLAIN, 1, machine)(a=a, b=b, out=result)
    np.testing.assert_array_equal(result, a.astype(np.int32) @ b.astype(np.int32))


def test_a_result_of_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(Sizes(45, 67, 130), ps.bf16, result=ps.bf16)
    a, b = operands(problem)
    result = np.zeros((45, 67), ps.bf16.numpy())
    with emulated(monkeypatch) as (machine, _):
        product_kernel(problem, (), PLAIN, 1, machine)(a=a, b=b, out=result)
    assert_is_product(problem, a, b, result)
