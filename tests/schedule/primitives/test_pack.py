from collections.abc import Callable

import pytest

from polysched.errors import ScheduleError
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.check import check
from polysched.legality.verdicts.verdict import VerdictKind
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import assert_agrees, spread
from tests.support.showing import before_and_after

SIZES = (0, 1, 4, 7, 8, 9)


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(kernels.matmul(16, 32, 8)).split("update.j", 8).reorder("jo", "update.i")
    check_golden("schedule/pack.txt", before_and_after(schedule.pack("b", at="jo")))


def test_loops_in_another_order(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(kernels.transpose()).tile(("i", "j"), (4, 8))
    schedule = schedule.pack("x", at="jo", order=("d1", "d0"), into="turned")
    check_golden("schedule/pack_order.txt", before_and_after(schedule))


@pytest.mark.parametrize("at", ["i", "j"])
def test_parametric(at: str) -> None:
    schedule = Schedule(kernels.grid()).pack("x", at)
    assert_agrees(schedule, *spread("n", "m", values=SIZES))


@pytest.mark.parametrize("length", SIZES[1:])
def test_rectangular(length: int) -> None:
    schedule = Schedule(kernels.matmul(length, 9, 5)).tile(("update.i", "update.j"), (4, 4))
    schedule = schedule.reorder("jo", "io", "l", "ii", "ji").pack("b", "jo")
    assert_agrees(schedule.pack("a", "io", order=("d1", "d0")))


def test_triangular() -> None:
    schedule = Schedule(kernels.grid(triangular=True)).split("i", 4).pack("x", "io")
    assert_agrees(schedule, *spread("n", values=SIZES))


def test_triangular_matrix() -> None:
    schedule = Schedule(kernels.triangular_solve()).split("i", 4).pack("L", "io")
    assert_agrees(schedule, *spread("n", values=SIZES))


@pytest.mark.parametrize("triangular", [False, True])
def test_inside_tiles_with_vectors(triangular: bool) -> None:
    schedule = (
        Schedule(kernels.matmul(triangular=triangular))
        .split("l", 4)
        .tile(("update.i", "update.j"), (4, 8))
        .reorder("lo", "jo", "io", "li", "ii", "ji")
        .pack("b", "jo")
        .pack("a", "io", order=("d1", "d0"))
        .vectorize("b_packed.d1", 8)
        .vectorize("ji", 8)
        .unroll("ii")
    )
    names = ("m", "n") if triangular else ("m", "n", "k")
    assert_agrees(schedule, *spread(*names, values=SIZES))


def test_strided_and_repeated_accesses() -> None:
    schedule = Schedule(kernels.shuffle()).split("strided.i", 4).pack("x", "io").pack("table", "io")
    assert_agrees(schedule.vectorize("ii", 4), *spread("n", values=SIZES[1:]))


def test_halo_of_a_stencil() -> None:
    schedule = Schedule(kernels.blur()).split("C.i", 4).pack("t", "io", order=("d1", "d0"))
    assert_agrees(schedule.vectorize("ii", 4), *spread("n", "m", values=SIZES[1:]))


def test_scalar() -> None:
    schedule = Schedule(kernels.scalars()).split("i", 4).pack("factor", "io").pack("x", "io")
    assert_agrees(schedule, *spread("n", values=SIZES))


def test_packed_array_packed_again() -> None:
    schedule = Schedule(kernels.matmul()).tile(("update.i", "update.j"), (4, 8))
    schedule = schedule.pack("b", "jo", into="outer").pack("outer", "ii", into="inner")
    assert_agrees(schedule, *spread("m", "n", "k", values=(1, 4, 9)))


def test_extent_of_a_full_tile_is_literal() -> None:
    schedule = Schedule(kernels.grid()).tile(("i", "j"), (4, 8)).pack("x", "jo")
    buffer = schedule.program.arrays["x_packed"]
    assert [str(extent) for extent in buffer.stored_shape] == ["4", "8"]


def test_unknown_array() -> None:
    with pytest.raises(ScheduleError, match="no array 'xx'; did you mean 'x'"):
        Schedule(kernels.grid()).pack("xx", "i")


def test_written_array() -> None:
    with pytest.raises(ScheduleError, match="statement 'update' writes it there; use promote"):
        Schedule(kernels.matmul()).pack("c", "update.j")


def test_array_not_touched_below() -> None:
    with pytest.raises(
        ScheduleError, match="no statement .* below loop 'init.i' accesses array 'a'"
    ):
        Schedule(kernels.matmul()).pack("a", "init.i")


def test_loop_in_which_nothing_runs() -> None:
    with pytest.raises(ScheduleError, match="no statement that ever runs below loop 'j'"):
        Schedule(kernels.triangular_solve(1)).pack("L", "j")


@pytest.mark.parametrize("order", [("d0",), ("d0", "d0"), ("d0", "z")])
def test_order_names_each_dimension(order: tuple[str, ...]) -> None:
    with pytest.raises(ScheduleError, match="must name each dimension of array 'x' once: d0, d1"):
        Schedule(kernels.grid()).pack("x", "i", order=order)


@pytest.mark.parametrize("into", ["x", "S", "no name"])
def test_name_of_the_buffer(into: str) -> None:
    with pytest.raises(ScheduleError, match="cannot name the buffer of array 'x'"):
        Schedule(kernels.grid()).pack("x", "i", into=into)


def test_the_array_must_not_be_written_before_its_tile_is_copied() -> None:
    build = KernelBuilder("read_then_written")
    a, y = build.inout("a", i32, (6,)), build.output("y", i32, (6,))
    with build.loops(i=6) as i, build.statement("read"):
        y[i] = a[i]
    with build.loops(i=6) as i, build.statement("write"):
        a[i] = 7
    fused = Schedule(build.kernel()).pack("a", at="read.i").fuse("read.i", "write.i")
    assert check(fused).is_legal
    assert check(fused.shift("i", 1, "write")).is_legal
    assert check(fused.shift("i", -1, "write")).kind is VerdictKind.ILLEGAL


def test_before_all_loops(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(kernels.matmul()).pack("b", order=("d1", "d0"))
    check_golden("schedule/pack_before_all_loops.txt", before_and_after(schedule))
    assert_agrees(schedule, *spread("m", "n", "k", values=(0, 1, 5)))


def test_before_all_loops_of_a_triangle() -> None:
    schedule = Schedule(kernels.triangular_solve()).pack("L").split("i", 4)
    assert_agrees(schedule, *spread("n", values=SIZES))


def test_an_array_that_is_written_is_not_packed_before_all_loops() -> None:
    with pytest.raises(ScheduleError, match=r"cannot be packed before all loops: .*at="):
        Schedule(kernels.matmul()).pack("c")
