from collections.abc import Callable

import pytest

from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.functions import cast
from polysched.schedule.notation.printing import format_tree
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import assert_agrees, spread
from tests.support.showing import before_and_after

SIZES = (1, 3, 4, 8, 9)


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(kernels.chain()).split("C.i", 8).compute_at("P", at="io")
    check_golden("schedule/compute_at.txt", before_and_after(schedule))


def test_loops_of_a_stencil(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(kernels.blur()).split("C.i", 4).compute_at("t", at="io")
    check_golden("schedule/compute_at_stencil.txt", before_and_after(schedule))


@pytest.mark.parametrize("at", ["C.i", "C.j"])
def test_parametric(at: str) -> None:
    schedule = Schedule(kernels.chain()).compute_at("P", at)
    assert_agrees(schedule, *spread("n", "m", values=(0, *SIZES)))


@pytest.mark.parametrize("length", SIZES)
def test_rectangular(length: int) -> None:
    schedule = Schedule(kernels.blur(length, 9)).tile(("C.i", "C.j"), (4, 4)).compute_at("P", "jo")
    assert_agrees(schedule)


def test_triangular() -> None:
    schedule = Schedule(kernels.chain(triangular=True)).tile(("C.i", "C.j"), (4, 3))
    assert_agrees(schedule.compute_at("P", "jo"), *spread("n", values=(0, *SIZES)))


@pytest.mark.parametrize("at", ["io", "ii", "C.j"])
def test_producer_with_halo(at: str) -> None:
    schedule = Schedule(kernels.blur()).split("C.i", 4).compute_at("t", at)
    assert_agrees(schedule, *spread("n", "m", values=SIZES))


def test_producer_with_halo_in_vectors() -> None:
    schedule = (
        Schedule(kernels.blur())
        .split("C.j", 8)
        .reorder("jo", "C.i", "ji")
        .compute_at("t", at="jo")
        .promote("t", at="jo")
        .vectorize("P.j", 8)
        .vectorize("ji", 8)
    )
    assert_agrees(schedule, *spread("n", "m", values=SIZES))


def test_several_producers_of_an_array() -> None:
    schedule = Schedule(_result_after_matmul()).tile(("scaled.i", "scaled.j"), (2, 4))
    assert_agrees(schedule.compute_at("c", at="jo"), *spread("n", values=(0, *SIZES)))


def _result_after_matmul() -> Kernel:
    build = KernelBuilder("scaled_matmul")
    n = build.parameter("n")
    a, b = build.input("a", i32, (n, n)), build.input("b", i32, (n, n))
    c, d = build.temporary("c", i32, (n, n)), build.output("d", i32, (n, n))
    with build.loops(i=n, j=n) as (i, j), build.statement("init"):
        c[i, j] = 1
    with build.loops(i=n, j=n, k=n) as (i, j, k), build.statement("update"):
        c[i, j] += a[i, k] * b[k, j]
    with build.loops(i=n, j=n) as (i, j), build.statement("scaled"):
        d[i, j] = 3 * c[i, j]
    return build.kernel()


def test_unknown_producer() -> None:
    with pytest.raises(ScheduleError, match="'tt' is neither a statement nor .*; did you mean"):
        Schedule(kernels.chain()).compute_at("tt", "C.i")


def test_producer_below_the_loop_already() -> None:
    with pytest.raises(ScheduleError, match="'P' is below loop 'P.i' already"):
        Schedule(kernels.chain()).compute_at("P", "P.i")


def test_loop_that_reads_nothing_of_it() -> None:
    with pytest.raises(
        ScheduleError, match="no statement below loop 'P.i' reads what 'C' produces"
    ):
        Schedule(kernels.chain()).compute_at("C", "P.i")


def test_order_without_a_buffer() -> None:
    with pytest.raises(ScheduleError, match="needs recompute=True, which makes the buffer that it"):
        Schedule(kernels.blur()).compute_at("t", "C.i", order=("d1", "d0"))


def test_order_of_other_dimensions() -> None:
    with pytest.raises(ScheduleError, match="must name each dimension of array 't' once: d0, d1"):
        Schedule(kernels.blur()).compute_at("t", "C.i", recompute=True, order=("d1",))


def test_instances_that_nobody_reads() -> None:
    build = KernelBuilder("half")
    x, y = build.temporary("x", i32, (8,)), build.output("y", i32, (4,))
    with build.loops(i=8) as i, build.statement("P"):
        x[i] = cast(i, i32)
    with build.loops(i=4) as i, build.statement("C"):
        y[i] = x[i]
    with pytest.raises(ScheduleError, match=r"loop 'C.i' reads the value of P\[4\];"):
        Schedule(build.kernel()).compute_at("P", "C.i")


def test_a_copy_of_pack() -> None:
    build = KernelBuilder("columns")
    n = build.parameter("n", minimum=1)
    x, y = build.input("x", i32, (n, n)), build.inout("y", i32, (n, n))
    with build.loops(i=n, j=n) as (i, j), build.statement("S"):
        y[i, j] = x[j, i] + y[i, j]
    schedule = Schedule(build.kernel()).pack("x", "i", into="p").compute_at("p", "j")
    assert "p: p[" in format_tree(schedule.program)
    assert_agrees(schedule, *spread("n", values=SIZES))


@pytest.mark.parametrize("recompute", [False, True])
def test_a_vector_does_not_come_into_another_one(recompute: bool) -> None:
    schedule = Schedule(kernels.blur(9, 9)).split("C.j", 4, into=("jo", "ji"))
    schedule = schedule.reorder("C.i", "jo").vectorize("P.j", 2).vectorize("C.i", 4)
    with pytest.raises(ScheduleError, match=r"'P' runs in vector loop 'jv', and loop 'jo' runs in"):
        schedule.compute_at("t", "jo", recompute=recompute)
