from collections.abc import Callable

import pytest

from polysched.errors import ScheduleError
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.check import check
from polysched.legality.verdicts.verdict import Cause, ViolationKind
from polysched.lower import show
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import assert_agrees, spread
from tests.support.showing import before_and_after


def cause(schedule: Schedule) -> Cause | None:
    violation = check(schedule).violation
    return None if violation is None else violation.cause


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(kernels.grid()).parallel("i").vectorize("j", 4)
    check_golden("schedule/parallel.txt", before_and_after(schedule))


def test_agrees() -> None:
    assert_agrees(Schedule(kernels.grid()).parallel("i"), *spread("n", "m", values=(0, 1, 5)))
    triangle = Schedule(kernels.grid(triangular=True)).tile(("i", "j"), (4, 4)).parallel("io")
    assert_agrees(triangle.vectorize("ji", 4), *spread("n", values=(0, 1, 4, 9)))


def test_a_nest_of_parallel_loops() -> None:
    schedule = Schedule(kernels.grid(5, 7)).parallel("i").parallel("j")
    assert_agrees(schedule)


def test_of_a_recurrence() -> None:
    verdict = check(Schedule(kernels.prefix()).parallel("i"))
    assert verdict.violation is not None
    assert verdict.violation.kind is ViolationKind.PARALLEL
    assert verdict.violation.loop == "i"
    first, _, instances, *_, why = verdict.reason.splitlines()
    assert first.startswith("illegal: parallel(loop='i') lets both ends of a flow dependence on s")
    assert "run at once" in first
    assert instances.split()[:2] == ["S[1]", "writes"]
    assert why == (
        "  Iterations 1 and 2 of parallel loop i may run at once, or in either order: S[1] must "
        "run before S[2]."
    )


def test_a_free_reduction_is_not_free_of_races() -> None:
    schedule = Schedule(kernels.matmul(4, 4, 4))
    assert cause(schedule.parallel("l")) is Cause.REDUCTION_THREADS
    verdict = check(schedule.parallel("l"))
    assert "no two of its instances may update c[0,0] at once" in verdict.reason


def test_what_reads_first_in_a_vector_may_not_be_parallel() -> None:
    """Lanes read before they write, threads do not."""
    build = KernelBuilder("advance")
    x = build.inout("x", i32, (9,))
    with build.loops(i=8) as i, build.statement("S"):
        x[i] = x[i + 1]
    schedule = Schedule(build.kernel())
    assert check(schedule.vectorize("i", 8)).is_legal
    assert cause(schedule.parallel("i")) is Cause.THREADS


def test_two_writers_of_one_element() -> None:
    schedule = Schedule(kernels.jacobi(3, 8)).parallel("s")
    assert cause(schedule) is Cause.THREADS


def test_a_buffer_inside_is_private_and_one_outside_is_shared() -> None:
    tiles = Schedule(kernels.transpose(8, 8)).tile(("i", "j"), (4, 4))
    assert_agrees(tiles.parallel("io").pack("x", at="jo"))
    assert_agrees(tiles.pack("x", at="io").parallel("jo"))
    assert_agrees(tiles.pack("x", at="io").parallel("io"))


def test_kind_is_decided_once() -> None:
    schedule = Schedule(kernels.grid()).parallel("i")
    with pytest.raises(ScheduleError, match="loop 'i' is parallel already, by step 1, parallel"):
        schedule.split("i", 4)
    with pytest.raises(ScheduleError, match="loop 'i' is parallel already"):
        schedule.parallel("i")


def test_inside_a_vector() -> None:
    schedule = Schedule(kernels.grid()).vectorize("i", 4)
    with pytest.raises(ScheduleError, match="it runs inside the vector loop 'iv'; reorder it out"):
        schedule.parallel("j")


def test_is_shown() -> None:
    assert "parallel i in 0..n:" in show(Schedule(kernels.grid()).parallel("i"), "loops")
