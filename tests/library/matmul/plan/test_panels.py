"""Blocks of several panels: which products get them, and their size."""

from dataclasses import replace

import pytest

from polysched.ir.expr.dtypes import DType, f32, f64
from polysched.library.matmul.kernel.declare import Sizes
from polysched.library.matmul.plan.config import B_BLOCKS_OUTERMOST
from polysched.library.matmul.plan.planner import plan
from polysched.library.matmul.plan.problem import Problem
from polysched.machine.presets import PRESETS

NEAR_L3 = replace(PRESETS["sapphirerapids"], costs=PRESETS["znver5"].costs)
FAR_L3 = PRESETS["sapphirerapids"]


@pytest.mark.parametrize("dtype", [f32, f64])
@pytest.mark.parametrize("size", [1000, 1024, 4096])
def test_a_distant_a_meets_several_panels_that_fit_a_quarter_of_l2(dtype: DType, size: int) -> None:
    problem = Problem(Sizes(size, size, size), dtype)
    config = plan(problem, FAR_L3)
    assert config.order == B_BLOCKS_OUTERMOST
    assert config.pack_b
    assert config.prefetch_packed
    assert config.n_block is not None
    assert config.n_block >= 2 * config.inner_n
    terms = config.k_block or size
    assert config.n_block * terms * dtype.bytes <= FAR_L3.cache_bytes(2) // 4
    assert plan(problem, NEAR_L3).n_block is None


@pytest.mark.parametrize("sizes", [(128, 1024, 1024), (4096, 64, 64), (32, 4096, 4096)])
def test_a_near_a_or_few_columns_need_no_blocks(sizes: tuple[int, int, int]) -> None:
    assert plan(Problem(Sizes(*sizes)), FAR_L3).n_block is None
