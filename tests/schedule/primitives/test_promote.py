from collections.abc import Callable

import pytest

from polysched.errors import ScheduleError
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, f32, f64, i32
from polysched.legality.check import check
from polysched.legality.verdicts.verdict import VerdictKind
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import assert_agrees, spread
from tests.support.showing import before_and_after

SIZES = (0, 1, 4, 7, 8, 9)


def tiled(*, triangular: bool = False, dtype: DType = i32) -> Schedule:
    """A matrix product whose update runs in tiles of 2 x 8, the reduction inside a tile."""
    schedule = Schedule(kernels.matmul(triangular=triangular, dtype=dtype))
    schedule = schedule.tile(("update.i", "update.j"), (2, 8))
    return schedule.reorder("io", "jo", "l", "ii", "ji")


def names(triangular: bool) -> tuple[str, ...]:
    return ("m", "n") if triangular else ("m", "n", "k")


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(kernels.matmul()).promote("c", at="update.j")
    check_golden("schedule/promote.txt", before_and_after(schedule))


def test_loops_of_a_register_tile(check_golden: Callable[[str, str], None]) -> None:
    schedule = tiled().promote("c", at="jo", lanes=8).vectorize("ji", 8).unroll("ii")
    check_golden("schedule/promote_lanes.txt", before_and_after(schedule))


@pytest.mark.parametrize("at", ["update.i", "update.j", "l"])
@pytest.mark.parametrize("triangular", [False, True])
def test_parametric(at: str, triangular: bool) -> None:
    schedule = Schedule(kernels.matmul(triangular=triangular)).promote("c", at)
    assert_agrees(schedule, *spread(*names(triangular), values=SIZES))


@pytest.mark.parametrize("length", SIZES[1:])
def test_rectangular(length: int) -> None:
    schedule = Schedule(kernels.matmul(length, 9, 5)).tile(("update.i", "update.j"), (2, 8))
    schedule = schedule.reorder("io", "jo", "l", "ii", "ji").promote("c", "jo", lanes=4)
    assert_agrees(schedule.vectorize("ji", 4))
    assert_agrees(schedule.vectorize("ji", 8).unroll("ii"))


@pytest.mark.parametrize(
    ("triangular", "dtype", "lanes"),
    [(False, i32, 4), (False, f32, None), (False, f64, 4), (True, f32, 4), (True, i32, None)],
    ids=str,
)
def test_register_tile(triangular: bool, dtype: DType, lanes: int | None) -> None:
    schedule = tiled(triangular=triangular, dtype=dtype).promote("c", "jo", lanes=lanes)
    schedule = schedule.vectorize("ji", 4).unroll("ii", "ji")
    assert_agrees(schedule, *spread(*names(triangular), values=(0, 7, 9)))


@pytest.mark.parametrize("lanes", [None, 2])
@pytest.mark.parametrize("triangular", [False, True])
def test_buffer_in_another_order(triangular: bool, lanes: int | None) -> None:
    schedule = tiled(triangular=triangular).promote(
        "c", "jo", lanes=lanes, into="turned", order=("d1", "d0")
    )
    assert schedule.program.arrays["turned"].dimensions[-2:] == ("d1", "d0")
    assert_agrees(schedule, *spread(*names(triangular), values=(0, 7, 9)))


def test_an_order_names_each_dimension_once() -> None:
    with pytest.raises(ScheduleError, match="must name each dimension of array 'c' once: d0, d1"):
        Schedule(kernels.matmul()).promote("c", at="update.j", order=("d0",))


def test_initialisation_inside() -> None:
    schedule = (
        Schedule(kernels.matmul())
        .tile(("init.i", "init.j"), (2, 8))
        .tile(("update.i", "update.j"), (2, 8))
        .fuse("init.io", "update.io")
        .fuse("init.jo", "update.jo")
        .reorder("l", "update.ii", "update.ji")
        .promote("c", "jo", lanes=8)
        .vectorize("init.ji", 8)
        .vectorize("update.ji", 8)
        .unroll("init.ii", "update.ii")
    )
    assert "c_local_in" not in schedule.program.statements
    assert_agrees(schedule, *spread("m", "n", "k", values=SIZES))


@pytest.mark.parametrize("triangular", [False, True])
def test_block_and_in_it_registers(triangular: bool) -> None:
    schedule = (
        Schedule(kernels.matmul(triangular=triangular))
        .tile(("update.i", "update.j"), (4, 16))
        .reorder("io", "jo", "l", "ii", "ji")
        .promote("c", "jo", into="block")
        .split("l", 4)
        .tile(("ii", "ji"), (2, 8))
        .reorder("lo", "iio", "jio", "li", "iii", "jii")
        .promote("block", "jio", lanes=8, into="tile")
        .vectorize("jii", 8)
        .unroll("iii")
    )
    assert_agrees(schedule, *spread(*names(triangular), values=(1, 9, 17)))


@pytest.mark.parametrize("length", [9, 16])
def test_last_tile_of_a_single_iteration(length: int) -> None:
    """The loop around a partial tile of one iteration vanishes; its buffers must live on."""
    schedule = (
        Schedule(kernels.matmul(length, length, length))
        .tile(("update.i", "update.j"), (4, 8))
        .reorder("jo", "io", "l", "ii", "ji")
        .pack("b", "jo")
        .pack("a", "io", order=("d1", "d0"))
        .promote("c", "io", lanes=8)
        .vectorize("ji", 8)
        .unroll("ii")
    )
    assert_agrees(schedule)


def test_updates_under_conditions() -> None:
    schedule = Schedule(kernels.conditions()).tile(("i", "j"), (2, 8)).promote("y", "jo", lanes=8)
    assert_agrees(schedule.vectorize("ji", 8).unroll("ii"), *spread("n", values=SIZES))


def test_updates_in_steps() -> None:
    schedule = Schedule(kernels.stepped()).tile(("i", "j"), (6, 8)).promote("y", "jo", lanes=8)
    assert_agrees(schedule.vectorize("ji", 8).unroll("ii"), *spread("n", values=SIZES))


def test_strided_writes() -> None:
    schedule = Schedule(kernels.shuffle()).split("strided.i", 4).promote("y", "io", lanes=4)
    assert_agrees(schedule.vectorize("ii", 4), *spread("n", values=SIZES[1:]))


def test_recurrence() -> None:
    schedule = Schedule(kernels.prefix()).split("i", 4).promote("s", "io").unroll("ii")
    assert_agrees(schedule, *spread("n", values=SIZES[1:]))


def test_sweeps_in_place() -> None:
    schedule = Schedule(kernels.seidel()).skew("i", "s").tile(("s", "i"), (2, 4)).promote("a", "io")
    assert_agrees(schedule, *spread("t", "n", values=(1, 2, 5, 8)))


def test_temporary_needs_no_copies() -> None:
    schedule = Schedule(kernels.chain()).compute_at("P", "C.i").promote("t", "C.i")
    assert set(schedule.program.statements) == {"P", "C"}
    assert_agrees(schedule, *spread("n", "m", values=SIZES))


def test_scalar() -> None:
    schedule = Schedule(kernels.scalars()).split("i", 4).promote("total", "io").unroll("ii")
    assert_agrees(schedule, *spread("n", values=SIZES))


def test_array_that_is_only_read() -> None:
    with pytest.raises(ScheduleError, match="writes array 'a'; use pack"):
        Schedule(kernels.matmul()).promote("a", "update.i")


def test_lanes_need_literal_extents() -> None:
    with pytest.raises(ScheduleError, match=r"whose extents, .*, are not literals.*tile the loops"):
        Schedule(kernels.grid()).promote("y", "i", lanes=8)


def test_too_many_copies() -> None:
    with pytest.raises(ScheduleError, match="takes 2048 copies of 8 lanes, more than 1024"):
        Schedule(kernels.grid(2, 16384)).promote("y", "i", lanes=8)


@pytest.mark.parametrize("lanes", [0, -1])
def test_lanes_must_be_positive(lanes: int) -> None:
    with pytest.raises(ScheduleError, match="the number of lanes of promote.* positive integer"):
        Schedule(kernels.grid()).promote("y", "j", lanes=lanes)


def test_name_taken() -> None:
    with pytest.raises(ScheduleError, match="'x' cannot name the buffer of array 'y'"):
        Schedule(kernels.grid()).promote("y", "j", into="x")


@pytest.mark.parametrize("step", ["promote", "pack"])
def test_several_tiles_of_a_buffer_are_refused(step: str) -> None:
    """Its tiles share one piece of memory: a buffer of several would mix their elements up."""
    schedule = Schedule(kernels.transpose(9, 7)).pack("x", "S.j", into="p")
    if step == "pack":
        schedule = schedule.distribute("j")
    expected = "loop '.*i' touches several tiles of buffer 'p', one for each 'at_j'"
    with pytest.raises(ScheduleError, match=expected):
        schedule.promote("p", "p.i") if step == "promote" else schedule.pack("p", "S.i")


def test_buffer_of_a_copy_that_moved() -> None:
    """The copy in runs at a deeper loop, whose values there have no names of their own."""
    schedule = Schedule(kernels.reductions()).promote("largest", "zero.i", into="p")
    schedule = schedule.compute_at("p_in", "add.j").promote("p", "zero.i", lanes=2)
    assert_agrees(schedule, *spread("n", "m"))


def test_lanes_of_a_copy_that_the_triangle_cuts_off() -> None:
    schedule = Schedule(kernels.triangular_solve(7)).split("eliminate.j", 2, ("jo", "ji"))
    assert_agrees(schedule.promote("x", "eliminate.jo", lanes=4))


def test_a_value_that_another_tile_overwrites_must_come_from_there() -> None:
    build = KernelBuilder("overwritten")
    x, y = build.input("x", i32, (5,)), build.output("y", i32, (5,))
    a = build.temporary("a", i32, (5,))
    with build.loops(i=5) as i:
        with build.statement("first"):
            a[i] = x[i]
        with build.statement("second"):
            a[i] = 2 * x[i]
        with build.statement("use"):
            y[i] = a[i]
    # A later tile writes what this one reads: its own first value is not enough.
    schedule = Schedule(build.kernel()).shift("i", 1, "second").promote("a", at="i")
    assert check(schedule).kind is VerdictKind.ILLEGAL


def test_every_update_that_may_come_first_finds_the_old_value() -> None:
    build = KernelBuilder("triangle")
    n = build.parameter("n", maximum=9)
    a = build.inout("a", i32, (9,))
    x = build.input("x", i32, (9, 9))
    with (
        build.loops(i=n, j=n) as (i, j),
        build.loops(k=(0, i)) as k,
        build.statement("update", order="any"),
    ):
        a[i] += x[j, k]
    # Rows of k are computed apart; as declared, each of them comes after some part of another.
    schedule = Schedule(build.kernel()).reorder("k", "j").promote("a", at="k", into="row")
    schedule = schedule.promote("a", at="row_in.i", into="sums").privatize("sums", at="row_in.i")
    assert check(schedule).is_legal
    assert_agrees(schedule, *spread("n", values=SIZES))


def test_vectors_of_copies_inside_a_vector() -> None:
    schedule = Schedule(kernels.matmul()).vectorize("update.i", 4)
    with pytest.raises(ScheduleError, match="runs inside the vector loop 'iv'; leave lanes= away"):
        schedule.promote("c", at="update.j", lanes=4)
