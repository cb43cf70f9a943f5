from typing import Any

import numpy as np
import pytest

from polysched.errors import ScheduleError
from polysched.inspect.assembly import hot_loop, parse
from polysched.ir.expr.dtypes import DType, f32, f64, i8, i16
from polysched.library.matmul.kernel.declare import matmul_kernel
from polysched.library.matmul.kernel.operands import ComputedOperand, Stored
from polysched.library.matmul.plan.config import Config
from tests.library.matmul.kernel.test_declare import SIZES as SMALL
from tests.library.matmul.products import (
    AVX512,
    assert_product,
    assert_right,
    bias_and_relu,
    codes_by_rows,
    operands,
    product,
    scheduled,
)

SPLIT = Config(inner_m=4, inner_n=64, pack_b=False, split_accumulators=4)
SIZES = [(1, 1, 70), (1, 8, 64), (1, 16, 67), (3, 5, 65), (2, 21, 70), (1, 40, 5), (4, 4, 3)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_sizes(sizes: tuple[int, int, int]) -> None:
    assert_product(matmul_kernel(*sizes), SPLIT)


@pytest.mark.parametrize("dtype", [f64, i8, i16])
def test_types(dtype: DType) -> None:
    assert_product(matmul_kernel(2, 12, 70, dtype=dtype), SPLIT)


@pytest.mark.parametrize("options", [{"a": Stored(True)}, {"b": Stored(True)}], ids=str)
def test_transposed(options: dict[str, Stored]) -> None:
    assert_product(matmul_kernel(3, 8, 67, **options), SPLIT)


def test_a_batch() -> None:
    assert_product(matmul_kernel(2, 8, 67, batch=3), SPLIT)
    config = Config(**{**vars(SPLIT), "parallel_batch": True})
    assert_product(matmul_kernel(2, 8, 67, batch=3), config, threads=2)


def test_what_becomes_of_the_sums() -> None:
    a, b = operands(SMALL)
    bias = np.arange(SMALL.n, dtype=np.float32)
    expected = np.maximum(product(a, b) + bias, 0)
    kernel = matmul_kernel(*SMALL[:3], epilogue=bias_and_relu(SMALL.n))
    assert_right(kernel, SPLIT, a, b, bias, expected=expected)


def test_a_product_that_is_added() -> None:
    a, b = operands(SMALL)
    out = np.ones((SMALL.m, SMALL.n), np.float32)
    schedule = scheduled(matmul_kernel(*SMALL[:3], accumulate=True), SPLIT)
    assert schedule.check().is_legal
    schedule.compile()(a, b, out)
    np.testing.assert_array_equal(out, product(a, b) + 1)


def test_a_computed_operand() -> None:
    kernel = matmul_kernel(*SMALL[:3], a=ComputedOperand(codes_by_rows(SMALL)))
    a, b = operands(SMALL)
    scale = np.full(SMALL.m, 2, np.float32)
    assert_right(kernel, SPLIT, a.astype(np.int8), scale, b, expected=2 * product(a, b))


@pytest.mark.parametrize(("columns", "lanes"), [(8, 8), (16, 16), (4, 4)])
def test_a_chain_is_in_registers_and_as_wide_as_the_product(columns: int, lanes: int) -> None:
    schedule = scheduled(matmul_kernel(1, columns, 640, dtype=f32), SPLIT, AVX512)
    (function, *_) = [one for one in parse(schedule.show("asm", AVX512)) if hot_loop(one)]
    loop = hot_loop(function)
    assert loop is not None
    assert loop.counts.fma == SPLIT.split_accumulators
    assert loop.counts.stores == loop.counts.spills == loop.counts.shuffles == 0
    register = {4: "%xmm", 8: "%ymm", 16: "%zmm"}[lanes]
    assert register in schedule.show("asm", AVX512)


@pytest.mark.parametrize("fields", [{"pack_b": True}, {"k_block": 8}, {"k_threads": 2}], ids=str)
def test_what_it_leaves_no_place_for(fields: dict[str, Any]) -> None:
    config = Config(**{**vars(SPLIT), **fields})
    with pytest.raises(
        ScheduleError, match="split_accumulators=4 is for products of one register tile"
    ):
        scheduled(matmul_kernel(3, 16, 64, dtype=f32), config)


def test_chains_that_do_not_fit_the_registers() -> None:
    with pytest.raises(ScheduleError, match="take a smaller inner_m"):
        scheduled(matmul_kernel(4, 64, 64), Config(**{**vars(SPLIT), "split_accumulators": 8}))
