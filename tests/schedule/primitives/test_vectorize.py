from collections.abc import Callable

import pytest

from polysched.errors import ScheduleError
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, f32, f64, i8, i32, i64, u16
from polysched.ir.expr.functions import not_equal
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import assert_agrees, spread
from tests.support.effort import covering
from tests.support.showing import before_and_after

SIZES = (0, 1, 7, 8, 9, 17)


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(kernels.scale()).vectorize("i", 16)
    check_golden("schedule/vectorize.txt", before_and_after(schedule))


@pytest.mark.parametrize("lanes", [1, 2, 8, 16, 64])
def test_parametric(lanes: int) -> None:
    schedule = Schedule(kernels.scale()).vectorize("i", lanes)
    assert_agrees(schedule, *spread("n", values=(*SIZES, 63, 64, 65)))


@covering(1, dtype=[f32, f64, i8, i64, u16], loop=["i", "j"])
def test_rows_and_columns(loop: str, dtype: DType) -> None:
    schedule = Schedule(kernels.grid(dtype=dtype)).vectorize(loop, 8)
    assert_agrees(schedule, *spread("n", "m", values=SIZES))


@pytest.mark.parametrize("length", [1, 2, 7, 8, 9, 16])
def test_rectangular(length: int) -> None:
    assert_agrees(Schedule(kernels.grid(3, length)).vectorize("j", 8))
    assert_agrees(Schedule(kernels.transpose(length, 3)).vectorize("i", 8))


@pytest.mark.parametrize("loop", ["i", "j"])
def test_triangular(loop: str) -> None:
    schedule = Schedule(kernels.grid(triangular=True)).vectorize(loop, 4)
    assert_agrees(schedule, *spread("n", values=SIZES))


@pytest.mark.parametrize("loop", ["update.i", "update.j"])
@pytest.mark.parametrize("triangular", [False, True])
def test_vector_loop_that_is_not_innermost(loop: str, triangular: bool) -> None:
    schedule = Schedule(kernels.matmul(triangular=triangular)).vectorize(loop, 8)
    names = ("m", "n") if triangular else ("m", "n", "k")
    assert_agrees(schedule, *spread(*names, values=(0, 1, 7, 8, 9)))


@pytest.mark.parametrize("dtype", [f32, f64, i8, i32, i64], ids=str)
def test_strided_reversed_shared_and_gathered(dtype: DType) -> None:
    schedule = Schedule(kernels.shuffle(dtype=dtype))
    schedule = schedule.vectorize("strided.i", 8).vectorize("reversed.i", 8)
    assert_agrees(schedule, *spread("n", values=SIZES[1:]))


@pytest.mark.parametrize("loop", ["i", "j"])
def test_conditions_are_masks(loop: str) -> None:
    schedule = Schedule(kernels.conditions()).vectorize(loop, 4)
    assert_agrees(schedule, *spread("n", values=SIZES))


@pytest.mark.parametrize("loop", ["i", "j"])
def test_steps_are_masks(loop: str) -> None:
    schedule = Schedule(kernels.stepped()).vectorize(loop, 4)
    assert_agrees(schedule, *spread("n", values=SIZES))


@pytest.mark.parametrize("length", [None, 16])
def test_lanes_with_a_hole_run_together(length: int | None) -> None:
    """Reversed lanes may run together, but not the lanes before the hole first, then the others."""
    build = KernelBuilder("hole")
    size = kernels.extent(build, "n", length)
    a = build.inout("a", i32, (size + 2,))
    with build.loops(i=size) as i, build.where(not_equal(i, 5)), build.statement("S"):
        a[i] = a[i + 2] + 1
    schedule = Schedule(build.kernel()).split("i", 8, ("io", "ii")).reverse("ii").shift("ii", 7)
    schedule = schedule.vectorize("ii", 8)
    assert_agrees(schedule, *(spread("n", values=(0, 1, 5, 7, 8, 17)) if length is None else [{}]))


def test_several_statements_each_for_all_lanes() -> None:
    schedule = Schedule(kernels.reductions()).vectorize("i", 8)
    assert_agrees(schedule, *spread("n", "m", values=SIZES))


def test_full_and_partial_tiles_of_unrolled_vectors() -> None:
    schedule = Schedule(kernels.grid()).tile(("i", "j"), (2, 16)).vectorize("ji", 4)
    assert_agrees(schedule.unroll("ii", "ji"), *spread("n", "m", values=(*SIZES, 33)))


@pytest.mark.parametrize("lanes", [3, 128])
def test_lanes_are_a_power_of_two(lanes: int) -> None:
    with pytest.raises(ScheduleError, match="expected a power of two up to 64"):
        Schedule(kernels.scale()).vectorize("i", lanes)


@pytest.mark.parametrize("lanes", [0, -8])
def test_lanes_are_positive(lanes: int) -> None:
    with pytest.raises(ScheduleError, match="the number of lanes .* expected a positive integer"):
        Schedule(kernels.scale()).vectorize("i", lanes)


def test_vectors_of_vectors() -> None:
    with pytest.raises(ScheduleError, match="'S' already runs in the vector loop 'jv'"):
        Schedule(kernels.grid()).vectorize("j", 4).vectorize("i", 4)


@pytest.mark.parametrize("into", [None, "v", "w"])
def test_the_same_loop_twice(into: str | None) -> None:
    schedule = Schedule(kernels.scale()).vectorize("i", 8, into=into)
    with pytest.raises(
        ScheduleError, match=f"{into or 'iv'}', and runs in one at most; for longer "
    ):
        schedule.vectorize("i", 8)
    with pytest.raises(ScheduleError, match="give that one more than its 8 lanes"):
        schedule.vectorize("i", 4, into="x")


def test_name_taken() -> None:
    with pytest.raises(ScheduleError, match="loop name 'i' is taken"):
        Schedule(kernels.grid()).vectorize("j", 4, into="i")


@pytest.mark.parametrize("loop", ["l"])
def test_lanes_that_update_one_element_are_refused(loop: str) -> None:
    with pytest.raises(ScheduleError, match="lane"):
        assert_agrees(Schedule(kernels.matmul()).vectorize(loop, 8), {"m": 1, "n": 1, "k": 1})


def test_recurrence_is_refused() -> None:
    with pytest.raises(ScheduleError, match="lane"):
        assert_agrees(Schedule(kernels.prefix()).vectorize("i", 8), {"n": 1})
