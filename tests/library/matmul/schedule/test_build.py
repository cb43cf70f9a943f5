from collections import Counter
from dataclasses import replace
from itertools import permutations
from typing import Any

import islpy as isl
import numpy as np
import pytest

from polysched.errors import ScheduleError
from polysched.inspect.assembly import hot_loop, parse
from polysched.ir.core.kernel import Kernel, Statement
from polysched.ir.core.tree import path
from polysched.ir.expr.dtypes import DType, f64, i8, i16
from polysched.library.matmul.kernel.declare import Sizes, matmul_kernel
from polysched.library.matmul.kernel.operands import Stored
from polysched.library.matmul.plan.config import Config, fitted, part_of, unit_of
from polysched.library.matmul.plan.planner import plan
from polysched.library.matmul.plan.problem import Problem
from polysched.library.matmul.schedule.build import matmul_schedule
from polysched.loops.verify.last_writer import last_writer_errors
from polysched.lower import show
from polysched.machine.load import load_machine
from polysched.schedule.primitives.parallel import Parallel
from tests.library.matmul.products import (
    AVX512,
    HOST,
    TRANSPOSED,
    assert_product,
    assert_right,
    bias_and_relu,
    operands,
    product,
    scheduled,
)
from tests.support.differential import NO_CACHE
from tests.support.effort import covering, sampled

SMALL = Config(inner_m=2, inner_n=32)
SIZES = Sizes(7, 41, 13)
BLOCKS = {"m_block": 2, "n_block": 32, "k_block": 6}

FIELDS: list[dict[str, Any]] = [
    {},
    {"inner_k": 4},
    {"m_block": 6},
    {"n_block": 32},
    {"k_block": 5},
    BLOCKS,
    {**BLOCKS, "inner_k": 4},
    {"m_threads": 2},
    {"n_threads": 2},
    {"k_threads": 2},
    {"m_threads": 2, "n_threads": 2},
    {"k_threads": 2, "k_block": 4},
    {"pack_b": False},
    {"pack_a": True, "k_block": 5},
    {"prefetch_a": True},
    {"prefetch_a": True, "inner_k": 4, **BLOCKS},
    {"prefetch_a": True, "prefetch_b": 1, "pack_b": False, "m_threads": 2, "n_threads": 2},
    {"prefetch_b": 3, "prefetch_level": 2, "pack_b": False, "k_block": 4, "inner_k": 4},
]

ORDERS = [
    "".join((*(f"p{d}" for d in p), *(f"o{d}" for d in o), *(f"i{d}" for d in i)))
    for p, o, i in zip(
        permutations("mnk"), reversed([*permutations("mnk")]), permutations("nkm"), strict=True
    )
]


def is_parallel(kernel: Kernel, config: Config) -> bool:
    return any(isinstance(step, Parallel) for step in scheduled(kernel, config).steps)


def named(fields: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in fields.items()) or "default"


@pytest.mark.parametrize("fields", FIELDS, ids=named)
def test_each_field(fields: dict[str, Any]) -> None:
    config = Config(**{**vars(SMALL), **fields})
    kernel = matmul_kernel(*SIZES[:3])
    options = {"threads": 2} if is_parallel(kernel, config) else {}
    assert_product(kernel, config, **options)


@pytest.mark.parametrize("order", ORDERS[::2])
def test_orders(order: str) -> None:
    assert_product(
        matmul_kernel(*SIZES[:3]),
        Config(2, 1, 1, **BLOCKS, inner_m=2, inner_n=32, order=order, pack_b=False),
        threads=2,
    )


@pytest.mark.parametrize(
    "fields", [{}, {"m_threads": 2}, BLOCKS, {"k_threads": 2}, {"k_block": 5}], ids=named
)
def test_epilogue(fields: dict[str, Any]) -> None:
    config = Config(**{**vars(SMALL), **fields})
    a, b = operands(SIZES)
    bias = np.arange(SIZES.n, dtype=np.float32)
    expected = np.maximum(product(a, b) + bias, 0)
    kernel = matmul_kernel(*SIZES[:3], epilogue=bias_and_relu(SIZES.n))
    options = {"threads": 3} if is_parallel(kernel, config) else {}
    assert_right(kernel, config, a, b, bias, expected=expected, **options)


def test_epilogue_is_computed_at_the_tile() -> None:
    kernel = matmul_kernel(*SIZES[:3], epilogue=bias_and_relu(SIZES.n))
    tree = scheduled(kernel, SMALL).program.tree
    assert "im" in [loop.name for loop in path(tree, "epilogue")]


def test_epilogue_is_computed_outside_of_the_blocks_of_sums() -> None:
    kernel = matmul_kernel(*SIZES[:3], epilogue=bias_and_relu(SIZES.n))
    config = Config(**{**vars(SMALL), "n_block": 32, "k_block": 5})
    tree = scheduled(kernel, config).program.tree
    around = [loop.name for loop in path(tree, "epilogue")]
    assert "on" in around
    assert "ok" not in around


@pytest.mark.parametrize("dtype", [f64, i8, i16])
def test_types(dtype: DType) -> None:
    assert_product(matmul_kernel(*SIZES[:3], dtype=dtype), SMALL)


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_transposed(transpose_a: bool, transpose_b: bool) -> None:
    kernel = matmul_kernel(*SIZES[:3], a=Stored(transpose_a), b=Stored(transpose_b))
    assert_product(kernel, SMALL)


@pytest.mark.parametrize("transpose_a", [False, True])
def test_packed_a(transpose_a: bool) -> None:
    config = Config(**{**vars(SMALL), "m_block": 6, "pack_a": True})
    assert_product(matmul_kernel(*SIZES[:3], a=Stored(transpose_a)), config)


@pytest.mark.parametrize("fields", [BLOCKS, {"k_threads": 2}, {"m_threads": 2}], ids=named)
def test_every_read_sees_the_value_it_should(fields: dict[str, Any]) -> None:
    config = Config(**{**vars(SMALL), **fields})
    kernel = matmul_kernel(5, 33, 7, epilogue=bias_and_relu(33))
    assert not last_writer_errors(scheduled(kernel, config), {})


@covering(2, threads=[2, 3, 4, 7], dimension=["m", "n", "k"], block=[None, 7])
def test_parts_of_threads_differ_by_one_unit(
    dimension: str, threads: int, block: int | None
) -> None:
    sizes, inner = Sizes(77, 78, 79), {"inner_m": 3, "inner_n": 4, "inner_k": 2}
    wanted = {f"{dimension}_threads": threads, f"{dimension}_block": block}
    config = Config(**{**vars(SMALL), **inner, **wanted, "pack_b": False})
    used = fitted(config, sizes)
    program = scheduled(matmul_kernel(*sizes[:3]), config).program
    (part,) = (loop for loop in path(program.tree, "update") if loop.name == f"p{dimension}")
    extent, unit = sizes.along(dimension), unit_of(used, dimension)
    lengths = Counter(
        part.values["update"].eval(_instance(program.statements["update"], dimension, at))
        for at in range(extent)
    )
    assert len(lengths) == used.threads(dimension)
    assert max(lengths.values()) == part_of(used, dimension, extent)
    units = [-(-length // unit) for length in lengths.values()]
    assert max(units) - min(units) <= 1


def _instance(statement: Statement, dimension: str, at: int) -> isl.Point:
    """The instance in which one index has a value, and the others are 0."""
    point = isl.Point.zero(statement.domain.get_space())
    position = statement.indices.index(dimension)
    return point.set_coordinate_val(isl.dim_type.set, position, isl.Val(at))


def test_batch_in_parallel() -> None:
    config = Config(**{**vars(SMALL), "parallel_batch": True})
    assert_product(matmul_kernel(*SIZES[:3], batch=3), config, threads=2)


def test_each_product_of_a_batch_prefetches_the_next() -> None:
    config = replace(SMALL, pack_b=False, prefetch_b=1, prefetch_products=True)
    schedule = scheduled(matmul_kernel(*SIZES[:3], batch=3), config)
    assert "at='update.ik', of='update.batch'" in schedule.trace()
    assert_product(matmul_kernel(*SIZES[:3], batch=3), config)


def test_batch_of_parts() -> None:
    config = Config(**{**vars(SMALL), "m_threads": 2})
    assert_product(matmul_kernel(*SIZES[:3], batch=2), config, threads=3)


def test_batch_of_partial_sums() -> None:
    config = Config(**{**vars(SMALL), "k_threads": 2})
    assert_product(matmul_kernel(*SIZES[:3], batch=2), config, threads=2)


def test_a_tile_of_one_element() -> None:
    config = Config(inner_m=1, inner_n=1, inner_k=2)
    assert_product(matmul_kernel(5, 4, 3), config)


def test_a_block_of_one_column_and_an_epilogue() -> None:
    config = Config(2, n_block=1, k_block=5, inner_m=2, inner_n=1, pack_b=False)
    a, b = operands(SIZES)
    bias = np.arange(SIZES.n, dtype=np.float32)
    expected = np.maximum(product(a, b) + bias, 0)
    kernel = matmul_kernel(*SIZES[:3], epilogue=bias_and_relu(SIZES.n))
    assert_right(kernel, config, a, b, bias, expected=expected, threads=2)


@pytest.mark.parametrize("fields", sampled(FIELDS, 5), ids=named)
def test_an_epilogue_that_updates(fields: dict[str, Any]) -> None:
    config = Config(**{**vars(SMALL), **fields})
    a, b = operands(SIZES)
    kernel = matmul_kernel(
        *SIZES[:3], accumulate=True, epilogue=lambda _: lambda done: done.value - 2 * done.old
    )
    out = np.ones((SIZES.m, SIZES.n), np.float32)
    schedule = scheduled(kernel, config)
    assert schedule.check().is_legal
    schedule.compile(cache=NO_CACHE)(a, b, out)
    np.testing.assert_array_equal(out, product(a, b) - 2)


def test_a_transposed_b_is_turned_in_registers() -> None:
    kernel = matmul_kernel(60, 256, 64, b=TRANSPOSED)
    text = scheduled(kernel, Config(inner_m=6, inner_n=64), AVX512).show("asm", AVX512)
    assert "vunpcklps" in text
    assert "vgather" not in text


def test_accumulate() -> None:
    schedule = scheduled(matmul_kernel(*SIZES[:3], accumulate=True), SMALL)
    assert schedule.check().is_legal
    a, b = operands(SIZES)
    out = np.ones((SIZES.m, SIZES.n), np.float32)
    schedule.compile()(a, b, out)
    np.testing.assert_array_equal(out, product(a, b) + 1)


def test_nothing_is_read_of_a_block_that_is_the_first() -> None:
    schedule = scheduled(matmul_kernel(*SIZES[:3]), Config(**{**vars(SMALL), "k_block": 5}))
    a, b = operands(SIZES)
    out = np.full((SIZES.m, SIZES.n), np.nan, np.float32)
    schedule.compile()(a, b, out)
    np.testing.assert_array_equal(out, product(a, b))


def test_the_hot_loop_is_fmas_and_their_loads() -> None:
    kernel = matmul_kernel(60, 256, 64)
    schedule = scheduled(kernel, Config(inner_m=6, inner_n=64), AVX512)
    (function, *_) = [one for one in parse(schedule.show("asm", AVX512)) if hot_loop(one)]
    loop = hot_loop(function)
    assert loop is not None
    counts = loop.counts
    assert counts.fma == 6 * 4
    assert counts.spills == counts.stores == counts.shuffles == 0
    assert counts.vector_loads + counts.broadcasts <= 6 + 4


def test_too_many_registers_are_refused() -> None:
    with pytest.raises(ScheduleError, match="take a smaller inner_m or inner_n"):
        scheduled(matmul_kernel(64, 256, 8), Config(inner_m=12, inner_n=64), AVX512)


def test_nothing_says_what_to_pack() -> None:
    config = Config(order="pmpnpkomonokiminik", pack_b=True)
    with pytest.raises(ScheduleError, match="pack_b packs a block that 'im' reads repeatedly, and"):
        scheduled(matmul_kernel(64, 256, 8), config, AVX512)


TAILS = [(1, 1, 1), (1, 17, 2), (2, 16, 15), (5, 40, 17), (7, 33, 16), (13, 31, 64), (40, 15, 127)]


@pytest.mark.parametrize("sizes", TAILS, ids=str)
def test_tails(sizes: tuple[int, int, int]) -> None:
    assert_product(matmul_kernel(*sizes), plan(Problem(Sizes(*sizes)), HOST))


@pytest.mark.parametrize(
    "fields", [{"pack_a": True, "m_block": 2}, {"order": "pmpnpkomonokikimin"}], ids=named
)
def test_rows_that_cannot_be_asked_for(fields: dict[str, Any]) -> None:
    config = Config(**{**vars(SMALL), **fields, "prefetch_a": True})
    with pytest.raises(ScheduleError, match="set pack_a to False, and put im before ik in the ord"):
        scheduled(matmul_kernel(*SIZES[:3]), config)


def test_a_tile_asks_for_the_lines_of_the_next_once() -> None:
    config = Config(inner_m=3, inner_n=32, prefetch_a=True)
    machine = load_machine("skylake-avx512")
    schedule = matmul_schedule(matmul_kernel(9, 64, 160), config, machine)
    text = show(schedule, "asm", machine)
    assert text.count("prefetcht1") == config.inner_m


def test_a_batch_in_parallel_whose_sums_are_cut() -> None:
    config = Config(**{**vars(SMALL), "parallel_batch": True, "k_threads": 3})
    with pytest.raises(ScheduleError, match="and k_threads=3 cuts their sums; take one of the two"):
        scheduled(matmul_kernel(*SIZES[:3], batch=3), config)
