import pytest

from polysched.errors import ScheduleError
from polysched.ir.expr.dtypes import f32, f64
from polysched.library.matmul.kernel.declare import Sizes
from polysched.library.matmul.plan.config import (
    Config,
    fitted,
    part_of,
    registers_needed,
    require_registers,
    unit_of,
)
from polysched.machine.load import load_machine

AVX512, AVX2 = load_machine("skylake-avx512"), load_machine("haswell-avx2")


def test_order() -> None:
    expected = ("pn", "pm", "pk", "ok", "om", "on", "in", "ik", "im")
    assert Config(order="pnpmpkokomoninikim").loops == expected


@pytest.mark.parametrize(
    "order", ["", "pmpnpk", "pmpnpkomonokimini", "pmpnpkomonokiminim", "omonokpmpnpkiminik"]
)
def test_no_order(order: str) -> None:
    with pytest.raises(ScheduleError, match=f"order is '{order}'; expected pm, pn and pk in any"):
        Config(order=order)


@pytest.mark.parametrize("name", ["m_threads", "n_block", "k_block", "inner_m", "inner_k"])
def test_not_positive(name: str) -> None:
    with pytest.raises(ScheduleError, match=f"matmul config: {name} is 0; expected at least 1"):
        Config(**{name: 0})


def test_everything_larger_than_the_problem_is_clipped() -> None:
    config = Config(4, 4, 4, 100, 100, 100, inner_m=8, inner_n=64, inner_k=4)
    assert fitted(config, Sizes(3, 5, 2)) == Config(inner_m=3, inner_n=5, inner_k=2)


def test_blocks_are_whole_tiles() -> None:
    config = fitted(Config(m_block=10, k_block=7, inner_m=6, inner_k=4), Sizes(100, 64, 100))
    assert (config.m_block, config.k_block) == (12, 8)


def test_a_block_as_large_as_a_thread_has_is_no_block() -> None:
    config = fitted(Config(m_threads=2, m_block=48, inner_m=6), Sizes(96, 64, 8))
    assert (config.m_threads, config.m_block) == (2, None)


def test_blocks_of_a_part_are_of_nearly_one_size() -> None:
    config = fitted(Config(m_threads=2, m_block=256, inner_m=8), Sizes(600, 64, 8))
    assert config.m_block == 152
    assert unit_of(config, "m") == 152
    assert part_of(config, "m", 600) == 304


def test_threads_share_tiles_where_there_are_no_blocks() -> None:
    assert unit_of(Config(inner_m=6), "m") == 6


@pytest.mark.parametrize(("threads", "used"), [(2, 2), (3, 3), (4, 3), (5, 5), (9, 5)])
def test_no_thread_is_without_work(threads: int, used: int) -> None:
    sizes = Sizes(30, 64, 8)  # 5 tiles of 6 rows
    config = fitted(Config(m_threads=threads, inner_m=6), sizes)
    assert config.m_threads == used
    assert part_of(config, "m", sizes.m) * (used - 1) < sizes.m


def test_registers() -> None:
    config = Config(inner_m=6, inner_n=64)
    assert registers_needed(config, AVX512, f32) == 6 * 4 + 4 + 1
    assert registers_needed(config, AVX512, f64) == 6 * 8 + 8 + 1
    require_registers(config, AVX512, f32)


def test_too_many_registers() -> None:
    with pytest.raises(ScheduleError) as error:
        require_registers(Config(inner_m=6, inner_n=32), AVX2, f32)
    assert str(error.value) == (
        "matmul config: a register tile of 6 x 32 f32 needs 24 vectors of 8 for its sums and 5 for "
        "the operands: 29 registers, and 'haswell-avx2' has 16; take a smaller inner_m or inner_n"
    )
