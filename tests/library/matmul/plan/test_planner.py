from dataclasses import replace

import pytest

from polysched.ir.expr.dtypes import DType, f32, f64, i8
from polysched.legality.check import check
from polysched.library.matmul.kernel.declare import Sizes, matmul_kernel
from polysched.library.matmul.kernel.operands import Stored
from polysched.library.matmul.plan.config import fitted, require_registers
from polysched.library.matmul.plan.planner import plan
from polysched.library.matmul.plan.problem import Problem
from polysched.library.matmul.schedule.build import matmul_schedule
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
    assert AVX512.costs.block_terms <= (narrow.k_block or 0) < 300
    near = plan(Problem(Sizes(1, 60, 60), f64), AVX512)  # as good in any order
    assert near.k_block is None


def test_wide_rows_are_read_a_few_side_by_side() -> None:
    config = plan(Problem(Sizes(1, 6144, 122)), AVX512)
    assert config.k_block == config.inner_k < AVX512.costs.block_terms
    narrow = plan(Problem(Sizes(1, 130, 1500)), AVX512)
    assert narrow.k_block is None or narrow.k_block >= AVX512.costs.block_terms


def test_b_is_not_streamed_for_few_rows_of_a_result_that_lies_apart() -> None:
    sizes, apart = Sizes(9, 1968, 1 << 15), (1, 9)
    streamed = plan(Problem(sizes), AVX512)
    assert streamed.k_block is not None
    assert streamed.k_block < AVX512.costs.block_terms
    whole = plan(Problem(sizes, strides_out=apart), AVX512)
    assert whole.k_block is None or whole.k_block >= AVX512.costs.block_terms


def test_a_transposed_b_is_packed() -> None:
    assert plan(Problem(Sizes(64, 64, 64), b=TRANSPOSED), AVX512).pack_b


def test_b_that_is_read_once_from_memory_is_streamed() -> None:
    config = plan(Problem(Sizes(1, 8192, 8192)), AVX512)
    assert config.k_block == config.inner_k < AVX512.costs.block_terms
    assert config.loops.index("ok") < config.loops.index("in")
    assert not config.pack_b


def test_narrow_panels_of_a_streamed_b_are_packed_for_several_tiles_of_rows() -> None:
    wide, narrow = (load_machine(name) for name in ("skylake-avx512", "haswell-avx2"))
    for m, machine, packs in ((16, narrow, True), (12, narrow, False), (16, wide, False)):
        problem = Problem(Sizes(m, 4096, 4096, 1))
        config = plan(problem, machine)
        assert config.pack_b is packs
        # A vector of AVX2 is half a line.
        assert config.prefetch_b == 1 if packs else (config.prefetch_b > 1) is (machine is wide)
        schedule = matmul_schedule(matmul_kernel(m, 4096, 4096), config, machine)
        assert check(schedule).is_legal


def test_panels_of_a_b_beyond_half_of_l2_are_prefetched_in_place() -> None:
    for sizes in ((37, 1023, 511), (37, 1024, 512)):
        config = plan(Problem(Sizes(*sizes)), AVX512)
        assert (config.pack_b, config.prefetch_b, config.prefetch_level) == (False, 1, 1)
    for rows in (40, 100):  # from memory, in short blocks of terms
        config = plan(Problem(Sizes(rows, 4096, 4096)), AVX512)
        assert (config.pack_b, config.prefetch_b) == (False, 1)
        assert config.k_block is not None
        assert config.k_block <= AVX512.costs.prefetched_block_terms
    assert not plan(Problem(Sizes(64, 64, 64)), AVX512).prefetch_b
    assert plan(Problem(Sizes(16, 64, 512, 128)), AVX512).prefetch_products
    assert not plan(Problem(Sizes(16, 64, 512, 2)), AVX512).prefetch_b
    assert not plan(Problem(Sizes(64, 16, 60_000)), AVX512).prefetch_b  # a single panel
    assert not plan(Problem(Sizes(37, 1023, 511), b=COMPUTED), AVX512).prefetch_b


def test_long_sums_come_in_blocks() -> None:
    for side in (64, 1024):
        config = plan(Problem(Sizes(side, side, 16384)), AVX512)
        assert config.k_block is not None
        assert config.k_block * config.inner_n * f32.bytes <= AVX512.cache_bytes(2) // 2


def test_few_rows_by_a_transposed_b_are_dot_products() -> None:
    config = plan(Problem(Sizes(4, 1024, 1024), b=TRANSPOSED), AVX512)
    assert config.dot_form
    assert not config.pack_b
    assert not plan(Problem(Sizes(4, 1024, 1024)), AVX512).dot_form


@pytest.mark.parametrize("dtype", [f32, f64])
def test_dot_products_take_longer_sums_the_more_rows_there_are(dtype: DType) -> None:
    lengths = range(32, 1000, 32)
    shortest = []
    for m in (1, 4, 16):
        problems = [Problem(Sizes(m, 400, k), dtype, b=TRANSPOSED) for k in lengths]
        are_dots = [plan(problem, AVX512).dot_form for problem in problems]
        assert are_dots == sorted(are_dots)
        shortest.append(are_dots.index(True))
    assert shortest == sorted(shortest)
    assert shortest[0] < shortest[-1]


def test_dot_products_come_in_more_parts_than_threads() -> None:
    config = plan(Problem(Sizes(4, 4096, 1024), b=TRANSPOSED), AVX512, threads=2)
    assert config.dot_form
    assert config.n_threads > 2


def test_what_is_read_along_the_sums_is_contiguous_there() -> None:
    problem = Problem(Sizes(4, 1024, 1024), a=TRANSPOSED, b=TRANSPOSED)
    assert plan(problem, AVX512).pack_a
    assert not plan(Problem(Sizes(4, 1024, 1024), b=TRANSPOSED), AVX512).pack_a


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_every_plan_along_the_sums_fits(machine) -> None:
    for m in range(1, machine.costs.dot_rows + 1):
        problem = Problem(Sizes(m, 1000, 1024), b=TRANSPOSED)
        config = plan(problem, machine)
        assert config.dot_form
        require_registers(config, machine, problem.total)
        tiles = -(-m // config.inner_m)
        assert tiles * config.inner_m - m < tiles  # rows are shared out evenly


def test_a_transposed_b_of_whole_bytes_is_computed_in_place_for_more_rows() -> None:
    computed = replace(COMPUTED, is_transposed=True)
    for sizes in (Sizes(48, 4096, 4096), Sizes(64, 1024, 2048)):
        assert plan(Problem(sizes, b=computed), AVX512).dot_form
        for other in (replace(computed, reads_bits=True), TRANSPOSED):
            assert plan(Problem(sizes, b=other), AVX512).dot_form is False
    assert not plan(Problem(Sizes(128, 4096, 4096), b=computed), AVX512).dot_form


def test_threads_read_whole_rows_of_a_streamed_b_if_the_sums_are_few() -> None:
    config = plan(Problem(Sizes(1, 4096, 4096)), AVX512, threads=2)
    assert config.n_threads == 1
    assert config.k_threads > 2
    for sizes in (Sizes(3, 16384, 1024), Sizes(16, 4096, 4096)):
        config = plan(Problem(sizes), AVX512, threads=2)
        assert config.n_threads > 2
        assert config.k_threads == 1
    config = plan(Problem(Sizes(1, 16384, 1024)), AVX512, threads=2)
    assert config.k_threads > 2
    assert config.k_threads * 16384 * 4 <= AVX512.cache_bytes(2) // 2


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
    ("sizes", "is_split"),
    [
        ((1, 16, 1000), True),
        ((2, 32, 1000), True),
        ((1, 32, 1000), True),
        ((1, 8, 1000), True),
        ((1, 5, 1000), True),
        ((5, 16, 1000), False),  # enough sums as it is
        ((1, 16, 32), False),  # too short
    ],
    ids=str,
)
def test_few_sums_have_split_accumulators(sizes: tuple[int, int, int], is_split: bool) -> None:
    """Two FMA units of four cycles need eight sums that do not wait for one another."""
    problem = Problem(Sizes(*sizes))
    config = plan(problem, AVX512)
    assert (config.split_accumulators > 1) is is_split
    if is_split:
        require_registers(config, AVX512, problem.total)
        vectors = -(-sizes[1] // AVX512.lanes(f32.bits))
        assert config.split_accumulators * sizes[0] * vectors >= 8
        assert not config.pack_b


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
    assert batch.split_accumulators > 1
    assert plan(Problem(Sizes(1, 16, 100_000)), AVX512, threads=2).split_accumulators > 1


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
@pytest.mark.parametrize("dtype", [f32, f64, i8])
def test_split_accumulators_fit_every_machine(machine, dtype: DType) -> None:
    for m in range(1, 9):
        for n in (1, 2, 3, 5, 8, 12, 16, 24, 40, 64, 100):
            problem = Problem(Sizes(m, n, 700), dtype)
            require_registers(plan(problem, machine), machine, problem.total)


def test_rows_from_the_second_cache_are_fewer_in_a_tile() -> None:
    near, far = (plan(Problem(Sizes(7, 1000, k), b=TRANSPOSED), AVX512) for k in (700, 3000))
    assert far.inner_m < near.inner_m
    assert far.inner_n > near.inner_n
