from dataclasses import replace

import pytest

from polysched.errors import ScheduleError
from polysched.ir.expr.dtypes import f32
from polysched.library.matmul.kernel.declare import Sizes
from polysched.library.matmul.plan.config import Config, part_sizes, require_registers
from polysched.library.matmul.plan.problem import Problem
from polysched.library.matmul.plan.register_tile import (
    product_cycles,
    row_sets,
    with_register_tile,
)
from polysched.machine.contraction_model import TOLERANCE
from polysched.machine.load import load_machine

AVX512 = load_machine("skylake-avx512")


@pytest.mark.parametrize("sizes", [(64, 64, 64), (37, 1023, 511), (13, 48, 100)])
def test_the_tile_is_nearly_the_best_of_the_model(sizes: tuple[int, int, int]) -> None:
    problem = Problem(Sizes(*sizes))
    chosen = product_cycles(
        with_register_tile(Config(), problem, AVX512), problem.sizes, f32, AVX512
    )
    nearest = AVX512.cache(1)
    assert nearest is not None
    for rows in range(1, nearest.associativity + 1):
        for vectors in range(1, 7):
            other = Config(inner_m=rows, inner_n=16 * vectors)
            try:
                require_registers(other, AVX512, f32)
            except ScheduleError:
                continue
            assert chosen <= (1 + TOLERANCE) * product_cycles(other, problem.sizes, f32, AVX512)


def test_cycles_are_those_of_the_fmas_and_the_ends_of_tiles() -> None:
    cycles = product_cycles(Config(inner_m=8, inner_n=32), Sizes(64, 64, 64), f32, AVX512)
    fmas = 64 * 4 * 64 // 2
    assert fmas <= cycles <= 1.25 * fmas


def test_no_more_rows_than_a_set_of_the_cache_has_ways() -> None:
    nearest = AVX512.cache(1)
    assert nearest is not None
    config = with_register_tile(Config(), Problem(Sizes(1000, 16, 1000)), AVX512)
    assert config.inner_m <= nearest.associativity


@pytest.mark.parametrize(
    ("n", "leading", "places"), [(1024, 1024, 1), (100, 1024, 1), (512, 512, 2), (1000, 1000, None)]
)
def test_rows_of_the_result_that_meet_in_a_cache(n: int, leading: int, places: int | None) -> None:
    """A way of this cache holds 4 KiB."""
    problem = Problem(Sizes(298, n, 2), strides_out=(leading, 1))
    assert row_sets(problem, AVX512) == places
    assert row_sets(replace(problem, sizes=Sizes(3, n, 2)), AVX512) is None


def test_few_terms_are_multiplied_in_flat_tiles_where_rows_meet() -> None:
    heights = [
        with_register_tile(Config(), Problem(Sizes(298, *sizes)), AVX512).inner_m
        for sizes in ((1024, 2), (1000, 2), (1024, 200))
    ]
    assert heights[0] <= 2 < min(heights[1:])


def test_parts() -> None:
    config = Config(m_threads=2, n_threads=3, inner_m=6, inner_n=64)
    assert part_sizes(config, Sizes(100, 200, 50)) == Sizes(54, 128, 50)
