from typing import Any

import numpy as np
import pytest

from polysched.errors import ScheduleError
from polysched.inspect.assembly import hot_loop, parse
from polysched.ir.core.tree import path
from polysched.ir.expr.dtypes import DType, f32, f64, i8
from polysched.library.matmul.kernel.declare import matmul_kernel
from polysched.library.matmul.kernel.operands import ComputedOperand, Stored
from polysched.library.matmul.plan.config import Config
from polysched.library.matmul.schedule.dot import FEW_LANES
from polysched.schedule.primitives.parallel import Parallel
from tests.library.matmul.kernel.test_declare import SIZES as SMALL
from tests.library.matmul.products import (
    AVX512,
    TRANSPOSED,
    assert_product,
    assert_right,
    bias_and_relu,
    coded_operands,
    coded_product,
    codes_by_columns,
    codes_by_rows,
    operands,
    product,
    scheduled,
)
from tests.support.effort import covering

DOT = Config(inner_m=2, inner_n=4, pack_b=False, dot_form=True)


def dot(**changes: Any) -> Config:
    return Config(**{**vars(DOT), **changes})


@pytest.mark.parametrize("sizes", [(1, 1, 1), (1, 9, 16), (3, 7, 15), (5, 4, 40), (4, 10, 127)])
def test_tails(sizes: tuple[int, int, int]) -> None:
    assert_product(matmul_kernel(*sizes, b=TRANSPOSED), DOT)


@covering(
    1,
    fields=[{}, {"m_threads": 2}, {"n_threads": 2}],
    sizes=[(1, 1, 1), (1, 9, 16), (3, 7, 15), (5, 4, 40), (17, 10, 127)],
)
def test_a_transposed_a_is_turned_first(
    sizes: tuple[int, int, int], fields: dict[str, Any]
) -> None:
    kernel = matmul_kernel(*sizes, a=TRANSPOSED, b=TRANSPOSED)
    schedule = scheduled(kernel, dot(pack_a=True, **fields))
    assert path(schedule.program.tree, "a_packed")[0].name == "whole"
    options = {"threads": 2} if any(isinstance(one, Parallel) for one in schedule.steps) else {}
    assert_product(kernel, dot(pack_a=True, **fields), **options)


@pytest.mark.parametrize("is_parallel", [False, True])
def test_a_stack_of_turned_operands(is_parallel: bool) -> None:
    kernel = matmul_kernel(3, 6, 40, a=TRANSPOSED, b=TRANSPOSED, batch=3)
    options = {"threads": 2} if is_parallel else {}
    assert_product(kernel, dot(pack_a=True, parallel_batch=is_parallel), **options)


@pytest.mark.parametrize("transpose_a", [False, True])
def test_any_a_may_be_packed(transpose_a: bool) -> None:
    kernel = matmul_kernel(5, 6, 37, a=Stored(transpose_a), b=TRANSPOSED)
    assert_product(kernel, dot(pack_a=True))


@pytest.mark.parametrize("dtype", [f32, f64])
def test_partial_sums_are_added_up_in_halves(dtype: DType) -> None:
    """Not lane by lane, which takes an instruction to get at each and another to add it."""
    kernel = matmul_kernel(2, 32, 64, dtype=dtype, b=TRANSPOSED)
    text = scheduled(kernel, DOT, AVX512).show("asm", AVX512)
    assert "vaddss" not in text
    assert "vaddsd" not in text
    added = [line for line in text.splitlines() if "vaddp" in line]
    groups = 512 // dtype.bits // FEW_LANES
    # A loop over the rows of a tile: once for each column and group, once for all columns.
    assert len(added) <= DOT.inner_n * groups + FEW_LANES


@pytest.mark.parametrize("dtype", [f64, i8])
def test_types(dtype: DType) -> None:
    assert_product(matmul_kernel(3, 6, 37, dtype=dtype, b=TRANSPOSED), DOT)


def test_several_vectors_at_a_time() -> None:
    assert_product(matmul_kernel(1, 6, 100, b=TRANSPOSED), dot(inner_k=2))


@pytest.mark.parametrize("name", ["m_threads", "n_threads"])
def test_threads(name: str) -> None:
    assert_product(matmul_kernel(6, 13, 40, b=TRANSPOSED), dot(**{name: 2}), threads=2)


def test_batch() -> None:
    kernel = matmul_kernel(1, 6, 40, b=TRANSPOSED, batch=3)
    assert_product(kernel, dot(parallel_batch=True), threads=2)


def test_operands_that_are_not_transposed() -> None:
    assert_product(matmul_kernel(3, 6, 37, a=TRANSPOSED), DOT)


def test_epilogue() -> None:
    a, b = operands(SMALL)
    bias = np.arange(SMALL.n, dtype=np.float32)
    kernel = matmul_kernel(*SMALL[:3], b=TRANSPOSED, epilogue=bias_and_relu(SMALL.n))
    expected = np.maximum(product(a, b) + bias, 0)
    assert_right(kernel, DOT, a, np.ascontiguousarray(b.T), bias, expected=expected)


@pytest.mark.parametrize("fields", [{}, {"m_threads": 2}])
def test_computed_operands(fields: dict[str, Any]) -> None:
    kernel = matmul_kernel(
        *SMALL[:3],
        a=ComputedOperand(codes_by_rows(SMALL)),
        b=ComputedOperand(codes_by_columns(SMALL)),
    )
    schedule = scheduled(kernel, dot(**fields))
    assert schedule.check().is_legal
    inputs = coded_operands(SMALL)
    np.testing.assert_array_equal(schedule.compile()(**inputs), coded_product(inputs))


@pytest.mark.parametrize(
    "fields", [{"k_block": 16}, {"m_block": 2}, {"k_threads": 2}, {"pack_b": True}], ids=str
)
def test_what_it_has_no_use_for(fields: dict[str, Any]) -> None:
    kernel = matmul_kernel(8, 8, 64, b=TRANSPOSED)
    with pytest.raises(ScheduleError, match="dot_form=True reads b once and in place; leave bl"):
        scheduled(kernel, dot(**fields))


def test_the_hot_loop_is_fmas_and_their_loads() -> None:
    kernel = matmul_kernel(4, 32, 256, b=TRANSPOSED)
    text = scheduled(kernel, dot(inner_m=4), AVX512).show("asm", AVX512)
    (loop, *_) = [found for one in parse(text) if (found := hot_loop(one)) is not None]
    assert loop.counts.fma == 4 * 4
    assert loop.counts.spills == loop.counts.stores == loop.counts.shuffles == 0


def test_registers() -> None:
    with pytest.raises(ScheduleError, match="needs 36 vectors of 16 for its sums and 7 for"):
        scheduled(matmul_kernel(6, 6, 64, b=TRANSPOSED), dot(inner_m=6, inner_n=6), AVX512)
