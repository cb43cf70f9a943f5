"""Full tiles: which iterations need neither bounds nor masks."""

import islpy as isl
import pytest

from polysched.ir.core.tree import executed
from polysched.library.matmul.kernel.declare import matmul_kernel
from polysched.library.matmul.plan.config import Config
from polysched.library.matmul.schedule.build import matmul_schedule
from polysched.loops.isl_ast.separation import FullTiles, full_tiles
from polysched.machine.load import load_machine
from polysched.schedule.schedule import Schedule
from tests.support import kernels


def separated(schedule: Schedule) -> list[FullTiles]:
    program = schedule.program
    return full_tiles(executed(program.tree), program.statements)


def test_nothing_to_separate_without_fixed_loops() -> None:
    assert separated(Schedule(kernels.grid()).tile(("i", "j"), (4, 8))) == []


def test_literal_extents_that_fit() -> None:
    assert separated(Schedule(kernels.grid(8, 32)).vectorize("j", 16)) == []


def test_vector_loop_of_parametric_extent() -> None:
    (found,) = separated(Schedule(kernels.scale()).vectorize("i", 8))
    assert found.loop.name == "i"
    expected = isl.Set("[n] -> { [i] : 0 <= i and 8*i + 7 < n }")
    assert found.iterations.intersect_params(isl.Set("[n] -> { : n >= 0 }")).is_equal(expected)


def test_literal_extent_that_does_not_fit() -> None:
    (found,) = separated(Schedule(kernels.scale(20)).vectorize("i", 8))
    assert found.iterations.is_equal(isl.Set("{ [i] : 0 <= i <= 1 }"))


def test_each_dimension_at_its_own_loop() -> None:
    schedule = Schedule(kernels.grid()).tile(("i", "j"), (2, 16)).vectorize("ji", 16).unroll("ii")
    assert [part.loop.name for part in separated(schedule)] == ["io", "jo"]


def test_a_statement_of_some_iterations_leaves_the_others_full() -> None:
    """The sums start in the first block of terms; tiles are full in the second block as well."""
    config = Config(inner_m=12, inner_n=32, k_block=512, order="pmpnpkokonominimik")
    schedule = matmul_schedule(matmul_kernel(24, 80, 1024), config, load_machine("skylake-avx512"))
    (found,) = separated(schedule)
    assert found.loop.name == "in"
    assert found.iterations.is_equal(isl.Set("{ [ok, in] : 0 <= ok <= 1 and 0 <= in <= 1 }"))


def test_unrolled_loop_of_triangular_extent() -> None:
    schedule = Schedule(kernels.grid(triangular=True)).tile(("i", "j"), (4, 4)).unroll("ji")
    names = {part.loop.name for part in separated(schedule)}
    assert names <= {"io", "jo", "ii"}
    assert names


@pytest.mark.parametrize("length", [7, 8, 9])
def test_full_and_partial_together_are_everything(length: int) -> None:
    schedule = Schedule(kernels.scale(length)).vectorize("i", 4)
    parts = separated(schedule)
    full = sum(int(part.iterations.count_val().to_python()) for part in parts)
    assert full == (length // 4 if length % 4 else 0)


def test_a_parallel_loop_is_not_cut() -> None:
    schedule = Schedule(kernels.grid(7, 24)).split("i", 4).reorder("io", "j", "ii")
    (found,) = separated(schedule.unroll("ii"))
    assert found.loop.name == "io"
    (found,) = separated(schedule.parallel("io").unroll("ii"))
    assert found.loop.name == "j"
    assert found.iterations.is_equal(isl.Set("{ [0, j] : 0 <= j < 24 }"))


def test_full_tiles_are_one_convex_set_where_they_can_be() -> None:
    """Parts of 11 tiles, of which the last has 9 full ones: coalescing leaves two pieces."""
    schedule = Schedule(kernels.scale(1000)).split("i", 528).split("ii", 48, into=("t", "r"))
    (found,) = separated(schedule.vectorize("r", 16).unroll("r"))
    assert found.loop.name == "t"
    assert found.iterations.n_basic_set() == 1
    assert int(found.iterations.count_val().to_python()) == 11 + 9
