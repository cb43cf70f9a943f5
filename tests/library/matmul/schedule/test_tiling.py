import pytest

from polysched.library.matmul.kernel.declare import Stack, matmul_kernel
from polysched.library.matmul.plan.config import Config, TileLoop, loop_of_packing, tile_loops
from polysched.library.matmul.schedule.tiling import in_parallel, loops_around, tiled
from polysched.user import Schedule


def loops_named(*names: str) -> tuple[TileLoop, ...]:
    return tuple(TileLoop(name, name[0], (name[1],)) for name in names)


def test_only_what_is_asked_for_has_a_loop() -> None:
    assert [loop.name for loop in tile_loops(Config())] == ["in", "im", "ik"]
    loops = tile_loops(Config(m_threads=2, k_threads=2, n_block=64))
    assert [loop.name for loop in loops] == ["pk", "pm", "on", "in", "im", "ik"]


def test_tiled() -> None:
    config = Config(m_threads=2, n_block=8, inner_m=2, inner_n=4, inner_k=2)
    schedule = tiled(Schedule(matmul_kernel(9, 17, 5)), "update", config, tile_loops(config))
    expected = ("pm", "on", "in", "im", "ik", "rk", "rm", "rn")
    assert loops_around(schedule, "update") == expected
    assert schedule.check().is_legal


def test_parallel() -> None:
    schedule = Schedule(matmul_kernel(9, 17, 5, batch=(Stack(2), Stack(3, of_a=False))))
    stack, inner = ("batch", "batch_2"), loops_named("in")
    schedule, loops = in_parallel(schedule, inner, stack)
    assert loops == (TileLoop("batchbatch_2", "p", stack), *inner)
    assert loops_around(schedule, "update")[0] == "batchbatch_2"


@pytest.mark.parametrize(
    ("operand", "loops", "expected"),
    [
        ("b", ("in", "ik", "im"), "ik"),
        ("b", ("on", "om", "im"), "on"),
        ("b", ("om", "im", "in"), None),
        ("a", ("om", "on", "in"), "om"),
        ("a", ("on", "in", "im"), None),
    ],
)
def test_where_an_operand_is_packed(
    operand: str, loops: tuple[str, ...], expected: str | None
) -> None:
    found = loop_of_packing(operand, loops_named(*loops))
    assert (found and found.name) == expected
