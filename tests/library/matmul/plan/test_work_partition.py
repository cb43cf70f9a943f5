from math import ceil

import pytest

from polysched.ir.expr.dtypes import DType, f32, f64
from polysched.library.matmul.kernel.declare import Sizes
from polysched.library.matmul.kernel.operands import Stored
from polysched.library.matmul.plan.config import part_of
from polysched.library.matmul.plan.planner import plan
from polysched.library.matmul.plan.problem import Problem
from polysched.library.matmul.plan.work_partition import is_short, with_threads
from polysched.machine.load import load_machine

AVX512 = load_machine("skylake-avx512")


def test_no_threads_for_little_work() -> None:
    config = plan(Problem(Sizes(64, 64, 64)), AVX512, threads=8)
    assert (config.m_threads, config.n_threads, config.k_threads) == (1, 1, 1)


def test_threads_share_the_larger_side() -> None:
    config = plan(Problem(Sizes(4096, 64, 64)), AVX512, threads=2)
    assert config.m_threads >= 2
    assert config.n_threads == 1
    config = plan(Problem(Sizes(64, 8192, 64)), AVX512, threads=2)
    assert config.m_threads == 1
    assert config.n_threads >= 2


def test_parts_are_no_smaller_than_a_register_tile() -> None:
    config = plan(Problem(Sizes(1024, 96, 128)), AVX512, threads=2)
    assert config.m_threads > 1
    assert part_of(config, "m", 1024) >= config.inner_m
    config = plan(Problem(Sizes(64, 256, 1024)), AVX512, threads=2)
    assert config.n_threads > 2
    assert part_of(config, "n", 256) >= config.inner_n


def test_parts_of_rows_are_few_if_each_packs_b() -> None:
    config = plan(Problem(Sizes(8192, 1024, 2048)), AVX512, threads=2)
    assert config.pack_b
    assert (config.m_threads, config.n_threads) == (2, 1)


def test_columns_are_shared_if_rows_are_hardly_more_even() -> None:
    config = plan(Problem(Sizes(1000, 1000, 1000)), AVX512, threads=2)
    assert config.m_threads == 1


def test_threads_share_few_and_long_sums() -> None:
    assert plan(Problem(Sizes(64, 64, 16384)), AVX512, threads=2).k_threads == 2


def test_threads_share_a_batch() -> None:
    assert plan(Problem(Sizes(64, 64, 64, batch=64)), AVX512, threads=2).parallel_batch
    assert plan(Problem(Sizes(256, 256, 256, batch=2)), AVX512, threads=2).parallel_batch
    assert not plan(Problem(Sizes(256, 256, 256, batch=2)), AVX512, threads=3).parallel_batch


def test_parts_are_even_before_they_are_square() -> None:
    """Parts of 250 x 130 read less, but the last of their nine vectors of columns is wasted."""
    sizes, threads = Sizes(500, 520, 500), 8
    config = with_threads(Problem(sizes), AVX512, threads)
    assert config.m_threads * config.n_threads == threads

    def tiles(rows: int, columns: int) -> int:
        """Register tiles of 4 x 16 in the largest of so many parts of rows and of columns."""
        return ceil(sizes.m / rows / 4) * ceil(sizes.n / columns / 16)

    grids = [(rows, threads // rows) for rows in (1, 2, 4, 8)]
    assert tiles(config.m_threads, config.n_threads) <= 1.05 * min(tiles(*grid) for grid in grids)


@pytest.mark.parametrize(
    ("sizes", "dtype", "expected"),
    [
        (Sizes(40, 40, 40), f32, True),
        (Sizes(40, 40, 40), f64, True),
        (Sizes(200, 200, 200), f32, False),
        (Sizes(200, 200, 200), f64, False),
        (Sizes(4000, 4, 400), f32, False),  # lanes that are idle take their time too
        (Sizes(1, 100, 1000), f32, True),
        (Sizes(1, 2000, 1000), f32, False),  # few operations, and much to read
        (Sizes(40, 40, 40, batch=100), f32, False),
    ],
    ids=str,
)
def test_what_one_thread_has_done_soon(sizes: Sizes, dtype: DType, expected: bool) -> None:
    assert is_short(Problem(sizes, dtype), AVX512) is expected
    config = plan(Problem(sizes, dtype), AVX512, threads=2)
    parts = config.m_threads * config.n_threads * config.k_threads
    assert (parts > 1 or config.parallel_batch) is not expected


def test_a_vector_by_a_matrix_is_shared_either_way() -> None:
    for b in (Stored(), Stored(is_transposed=True)):
        config = plan(Problem(Sizes(1, 2000, 1000), b=b), AVX512, threads=2)
        assert config.n_threads >= 4
