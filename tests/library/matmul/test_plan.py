import pytest

from polysched.errors import ScheduleError
from polysched.ir.dtypes import DType, f32, f64, i8
from polysched.library.matmul.config import Config, fitted, require_registers
from polysched.library.matmul.kernel import Sizes
from polysched.library.matmul.plan import Problem, plan, tile_cycles
from polysched.machine.load import load_machine

MACHINES = [load_machine(name) for name in ("skylake-avx512", "haswell-avx2", "generic")]
AVX512 = MACHINES[0]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
@pytest.mark.parametrize("dtype", [f32, f64, i8])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_plan_fits(machine, dtype: DType, threads: int) -> None:
    for m, n, k in [(1, 1, 1), (3, 5, 7), (64, 64, 64), (1, 4096, 9000), (1000, 1000, 1000)]:
        sizes = Sizes(m, n, k)
        problem = Problem(sizes, dtype)
        config = plan(problem, machine, threads)
        require_registers(config, machine, problem.total)
        assert fitted(config, sizes) == config


def test_no_threads_for_little_work() -> None:
    config = plan(Problem(Sizes(64, 64, 64)), AVX512, threads=8)
    assert (config.m_threads, config.n_threads, config.k_threads) == (1, 1, 1)


def test_threads_share_the_larger_side() -> None:
    config = plan(Problem(Sizes(4096, 64, 64)), AVX512, threads=2)
    assert (config.m_threads, config.n_threads) == (2, 1)
    config = plan(Problem(Sizes(64, 4096, 64)), AVX512, threads=2)
    assert (config.m_threads, config.n_threads) == (1, 2)


def test_threads_share_few_and_long_sums() -> None:
    assert plan(Problem(Sizes(64, 64, 16384)), AVX512, threads=2).k_threads == 2


def test_threads_share_a_batch() -> None:
    assert plan(Problem(Sizes(64, 64, 64, batch=64)), AVX512, threads=2).parallel_batch


def test_a_large_b_is_packed_if_it_is_read_often() -> None:
    assert plan(Problem(Sizes(1024, 1024, 1024)), AVX512).pack_b
    assert not plan(Problem(Sizes(16, 1024, 1024)), AVX512).pack_b
    assert not plan(Problem(Sizes(1024, 64, 64)), AVX512).pack_b


def test_a_transposed_b_is_packed() -> None:
    assert plan(Problem(Sizes(64, 64, 64), transpose_b=True), AVX512).pack_b


def test_b_that_is_read_once_from_memory_is_streamed() -> None:
    config = plan(Problem(Sizes(1, 8192, 8192)), AVX512)
    assert config.k_block == config.inner_k == 8
    assert config.loops.index("ok") < config.loops.index("in")
    assert not config.pack_b


def test_long_sums_come_in_blocks() -> None:
    assert plan(Problem(Sizes(64, 64, 16384)), AVX512).k_block == 256
    blocks = plan(Problem(Sizes(1024, 1024, 16384)), AVX512).k_block
    assert blocks is not None
    assert blocks * 64 * f32.bytes <= 512 * 1024


@pytest.mark.parametrize("sizes", [(64, 64, 64), (37, 1023, 511), (13, 48, 100)])
def test_the_tile_is_nearly_the_best_of_the_model(sizes: tuple[int, int, int]) -> None:
    problem = Problem(Sizes(*sizes))
    chosen = tile_cycles(plan(problem, AVX512), problem.sizes, f32, AVX512)
    for rows in range(1, 13):
        for vectors in range(1, 7):
            other = Config(inner_m=rows, inner_n=16 * vectors)
            try:
                require_registers(other, AVX512, f32)
            except ScheduleError:
                continue
            assert chosen <= 1.02 * tile_cycles(other, problem.sizes, f32, AVX512)


def test_cycles_are_those_of_the_fmas_and_the_ends_of_tiles() -> None:
    cycles = tile_cycles(Config(inner_m=8, inner_n=32), Sizes(64, 64, 64), f32, AVX512)
    fmas = 64 * 4 * 64 // 2
    assert fmas <= cycles <= 1.25 * fmas
