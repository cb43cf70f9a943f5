import pytest

from polysched.ir.expr.dtypes import DType, f32, f64, i8
from polysched.legality.check import check
from polysched.library.matmul.config import fitted, require_registers
from polysched.library.matmul.kernel import Sizes, matmul_kernel
from polysched.library.matmul.operands import Stored
from polysched.library.matmul.plan import (
    MOST_DOT_ROWS,
    SHORTEST_BLOCK,
    STREAMED_PARTS_A_THREAD,
    plan,
)
from polysched.library.matmul.problem import Problem
from polysched.library.matmul.schedule import matmul_schedule
from polysched.library.matmul.work_partition import PARTS_A_THREAD
from polysched.machine.load import load_machine
from tests.library.matmul.products import COMPUTED, TRANSPOSED

MACHINES = [load_machine(name) for name in ("skylake-avx512", "haswell-avx2", "generic")]
AVX512 = MACHINES[0]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
@pytest.mark.parametrize("dtype", [f32, f64, i8])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_plan_fits(machine, dtype: DType, threads: int) -> None:
    for m, n, k in [(1, 1, 1), (3, 5, 7), (64, 64, 64), (1, 4096, 9000), (1000, 1000, 1000)]:
        sizes = Sizes(m, n, k)
        for transpose_b in (False, True):
            problem = Problem(sizes, dtype, b=Stored(transpose_b))
            config = plan(problem, machine, threads)
            require_registers(config, machine, problem.total)
            assert fitted(config, sizes) == config


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_every_streaming_plan_fits(machine) -> None:
    for m in range(1, 65):
        problem = Problem(Sizes(m, 1000, 16384))
        require_registers(plan(problem, machine), machine, problem.total)


@pytest.mark.parametrize("sizes", [(1, 1_000_000, 7), (31, 1_000_000, 5)])
def test_few_terms_and_many_columns(sizes: tuple[int, int, int]) -> None:
    config = plan(Problem(Sizes(*sizes), f64), AVX512)
    assert check(matmul_schedule(matmul_kernel(*sizes, dtype=f64), config, AVX512)).is_legal


def test_a_large_b_is_packed_if_it_is_read_often() -> None:
    assert plan(Problem(Sizes(1024, 1024, 1024)), AVX512).pack_b
    assert not plan(Problem(Sizes(16, 1024, 1024)), AVX512).pack_b
    assert not plan(Problem(Sizes(1024, 64, 64)), AVX512).pack_b


def test_a_transposed_a_is_packed_if_its_rows_fall_into_one_set() -> None:
    config = plan(Problem(Sizes(1024, 1024, 1024), a=TRANSPOSED), AVX512)
    assert config.pack_a
    assert config.m_block is not None
    assert not plan(Problem(Sizes(1000, 1000, 1000), a=TRANSPOSED), AVX512).pack_a
    assert not plan(Problem(Sizes(1024, 1024, 1024)), AVX512).pack_a


def test_a_transposed_a_is_packed_if_it_is_far_away() -> None:
    """Panel after panel reads it again, each time from as many places as there are terms."""
    far = plan(Problem(Sizes(2001, 100, 2001), f64, a=TRANSPOSED), AVX512)
    near = AVX512.cache(2)
    assert far.pack_a
    assert near is not None
    assert (far.m_block or 2001) * (far.k_block or 2001) * f64.bytes <= near.bytes // 2
    assert not plan(Problem(Sizes(2001, 100, 2001), f64), AVX512).pack_a
    assert not plan(Problem(Sizes(701, 100, 701), f64, a=TRANSPOSED), AVX512).pack_a


def test_parts_of_a_far_transposed_a_are_as_many_as_threads() -> None:
    """More would read short pieces of its rows."""
    far = Problem(Sizes(2001, 100, 2001), f64, a=TRANSPOSED)
    assert plan(far, AVX512, threads=2).m_threads == 2


def test_a_matrix_by_a_row_is_read_row_after_row() -> None:
    narrow = plan(Problem(Sizes(1, 100, 300), f64), AVX512)
    assert SHORTEST_BLOCK <= (narrow.k_block or 0) < 300
    near = plan(Problem(Sizes(1, 60, 60), f64), AVX512)  # as good in any order
    assert near.k_block is None


def test_wide_rows_are_read_a_few_side_by_side() -> None:
    config = plan(Problem(Sizes(1, 6144, 122)), AVX512)
    assert (config.k_block, config.inner_k, config.inner_n) == (8, 8, 64)
    assert plan(Problem(Sizes(1, 130, 1500)), AVX512).k_block != 8


def test_b_is_not_streamed_for_few_rows_of_a_result_that_lies_apart() -> None:
    sizes, apart = Sizes(9, 1968, 1 << 15), (1, 9)
    streamed = plan(Problem(sizes), AVX512)
    assert streamed.k_block == 9
    whole = plan(Problem(sizes, strides_out=apart), AVX512)
    assert whole.k_block is None or whole.k_block >= SHORTEST_BLOCK


def test_a_transposed_b_is_packed() -> None:
    assert plan(Problem(Sizes(64, 64, 64), b=TRANSPOSED), AVX512).pack_b


def test_b_that_is_read_once_from_memory_is_streamed() -> None:
    config = plan(Problem(Sizes(1, 8192, 8192)), AVX512)
    assert config.k_block == config.inner_k == 8
    assert config.loops.index("ok") < config.loops.index("in")
    assert not config.pack_b


def test_long_sums_come_in_blocks() -> None:
    assert plan(Problem(Sizes(64, 64, 16384)), AVX512).k_block == 256
    config = plan(Problem(Sizes(1024, 1024, 16384)), AVX512)
    assert config.k_block is not None
    assert config.k_block * config.inner_n * f32.bytes <= 512 * 1024


def test_few_rows_by_a_transposed_b_are_dot_products() -> None:
    config = plan(Problem(Sizes(4, 1024, 1024), b=TRANSPOSED), AVX512)
    assert config.dot_form
    assert not config.pack_b
    assert not plan(Problem(Sizes(4, 1024, 1024)), AVX512).dot_form


@pytest.mark.parametrize("m", [1, 4, 16])
@pytest.mark.parametrize("dtype", [f32, f64])
def test_dot_products_take_longer_sums_the_more_rows_there_are(m: int, dtype: DType) -> None:
    shortest = next(
        k
        for k in range(1, 1000)
        if plan(Problem(Sizes(m, 400, k), dtype, b=TRANSPOSED), AVX512).dot_form
    )
    assert shortest == max(64, 512 // dtype.bits * (m + 2))


def test_dot_products_come_in_more_parts_than_threads() -> None:
    config = plan(Problem(Sizes(4, 4096, 1024), b=TRANSPOSED), AVX512, threads=2)
    assert config.dot_form
    assert config.n_threads == 2 * PARTS_A_THREAD


def test_what_is_read_along_the_sums_is_contiguous_there() -> None:
    problem = Problem(Sizes(4, 1024, 1024), a=TRANSPOSED, b=TRANSPOSED)
    assert plan(problem, AVX512).pack_a
    assert not plan(Problem(Sizes(4, 1024, 1024), b=TRANSPOSED), AVX512).pack_a


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_every_plan_along_the_sums_fits(machine) -> None:
    for m in range(1, MOST_DOT_ROWS + 1):
        problem = Problem(Sizes(m, 1000, 512), b=TRANSPOSED)
        config = plan(problem, machine)
        assert config.dot_form
        require_registers(config, machine, problem.total)
        tiles = -(-m // config.inner_m)
        assert tiles * config.inner_m - m < tiles  # rows are shared out evenly


def test_threads_read_whole_rows_of_a_streamed_b_if_the_sums_are_few() -> None:
    config = plan(Problem(Sizes(1, 4096, 4096)), AVX512, threads=2)
    assert (config.n_threads, config.k_threads) == (1, 2 * PARTS_A_THREAD)
    config = plan(Problem(Sizes(3, 16384, 1024)), AVX512, threads=2)  # sums of two parts fit
    assert (config.n_threads, config.k_threads) == (2 * STREAMED_PARTS_A_THREAD, 1)
    config = plan(Problem(Sizes(1, 16384, 1024)), AVX512, threads=2)
    assert config.k_threads * 16384 * 4 <= AVX512.caches[1].bytes // 2
    assert config.k_threads > 2 * STREAMED_PARTS_A_THREAD
    config = plan(Problem(Sizes(16, 4096, 4096)), AVX512, threads=2)
    assert (config.n_threads, config.k_threads) == (2 * STREAMED_PARTS_A_THREAD, 1)


def test_what_is_computed_is_packed() -> None:
    for sizes in [(512, 512, 512), (128, 4096, 4096), (1000, 64, 5000)]:
        config = plan(Problem(Sizes(*sizes), a=COMPUTED, b=COMPUTED), AVX512)
        assert config.pack_a
        assert config.pack_b
    config = plan(Problem(Sizes(64, 64, 64), a=COMPUTED), AVX512)
    assert not config.pack_a  # one block holds all of it
    assert not config.pack_b


def test_what_is_computed_and_read_once_is_not_packed() -> None:
    for sizes in [(1, 512, 512), (4, 512, 512), (16, 4096, 4096)]:
        assert not plan(Problem(Sizes(*sizes), b=COMPUTED), AVX512).pack_b


def test_a_transposed_b_is_packed_or_read_along_the_sums() -> None:
    for m in (1, 2, 5, 16, 17, 100):
        for k in (4, 63, 64, 512):
            config = plan(Problem(Sizes(m, 500, k), b=TRANSPOSED), AVX512)
            assert config.pack_b is not config.dot_form


@pytest.mark.parametrize(
    ("sizes", "split_accumulators"),
    [
        ((1, 16, 1000), 8),
        ((2, 32, 1000), 2),
        ((1, 32, 1000), 4),
        ((1, 8, 1000), 8),
        ((1, 5, 1000), 16),  # of a vector of eight lanes, which is put together again and again
        ((5, 16, 1000), 1),  # enough sums as it is
        ((1, 16, 32), 1),  # too short
    ],
    ids=str,
)
def test_few_sums_have_split_accumulators(
    sizes: tuple[int, int, int], split_accumulators: int
) -> None:
    config = plan(Problem(Sizes(*sizes)), AVX512)
    assert config.split_accumulators == split_accumulators
    assert not (config.pack_b and split_accumulators > 1)


def test_split_accumulators_need_stored_operands() -> None:
    sizes = Sizes(1, 16, 1000)
    for problem in (
        Problem(sizes, b=TRANSPOSED),
        Problem(sizes, a=COMPUTED),
        Problem(sizes, b=COMPUTED),
    ):
        assert plan(problem, AVX512).split_accumulators == 1
    batch = plan(Problem(sizes._replace(batch=1000)), AVX512, threads=2)
    assert batch.parallel_batch
    assert batch.split_accumulators == 8
    assert plan(Problem(Sizes(1, 16, 100_000)), AVX512, threads=2).split_accumulators == 8


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
@pytest.mark.parametrize("dtype", [f32, f64, i8])
def test_split_accumulators_fit_every_machine(machine, dtype: DType) -> None:
    for m in range(1, 9):
        for n in (1, 2, 3, 5, 8, 12, 16, 24, 40, 64, 100):
            problem = Problem(Sizes(m, n, 700), dtype)
            require_registers(plan(problem, machine), machine, problem.total)


def test_rows_from_the_second_cache_are_fewer_in_a_tile() -> None:
    near, far = (plan(Problem(Sizes(7, 1000, k), b=TRANSPOSED), AVX512) for k in (700, 3000))
    assert (near.inner_m, near.inner_n) == (7, 2)
    assert (far.inner_m, far.inner_n) == (4, 4)
