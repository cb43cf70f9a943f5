from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.repairs.repair_shift import shifts, smallest_shifts
from polysched.schedule.core.program import find_loop
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import copy_shifted, producer_consumer
from tests.legality.repairing import case_of
from tests.support.kernels import blur, jacobi


def three_stages() -> Kernel:
    """``A: a[i] = i``, ``B`` reads one element ahead in ``a``, ``C`` two ahead in ``b``."""
    build = KernelBuilder("three_stages")
    n = build.parameter("n", minimum=3)
    a, b = build.temporary("a", i32, (n + 3,)), build.temporary("b", i32, (n + 2,))
    c = build.output("c", i32, (n,))
    with build.loops(i=n + 3) as i, build.statement("A"):
        a[i] = 7
    with build.loops(i=n + 2) as i, build.statement("B"):
        b[i] = a[i] + a[i + 1]
    with build.loops(i=n) as i, build.statement("C"):
        c[i] = b[i + 2] - a[i]
    return build.kernel()


def amounts(schedule: Schedule, loop: str) -> dict[str, int] | None:
    return smallest_shifts(schedule.program, find_loop(schedule.program, loop))


def test_the_consumer_waits_for_what_it_needs_and_no_longer() -> None:
    assert amounts(Schedule(producer_consumer(1)).fuse("P.i", "C.i"), "i") == {"P": 0, "C": 1}
    assert amounts(Schedule(producer_consumer(0)).fuse("P.i", "C.i"), "i") == {"P": 0, "C": 0}
    assert amounts(Schedule(blur()).fuse("P.i", "C.i"), "i") == {"P": 0, "C": 2}


def test_shifts_add_up_along_a_chain() -> None:
    schedule = Schedule(three_stages()).fuse("A.i", "B.i").fuse("A.i", "C.i", into="k")
    assert amounts(schedule, "k") == {"A": 0, "B": 1, "C": 3}


def test_a_sink_that_stands_first_waits_an_iteration_longer() -> None:
    build = KernelBuilder("behind")
    n = build.parameter("n", minimum=2)
    y, b = build.output("y", i32, (n,)), build.inout("b", i32, (n + 1,))
    with build.loops(i=n) as i:
        with build.statement("A"):
            y[i] = b[i]
        with build.statement("B"):
            b[i + 1] = 2
    assert amounts(Schedule(build.kernel()).reverse("i"), "i") == {"A": 2, "B": 0}


def test_shifts_add_up_against_the_order_of_statements() -> None:
    build = KernelBuilder("backwards")
    n = build.parameter("n", minimum=3)
    y = build.output("y", i32, (n,))
    b, c = build.inout("b", i32, (n + 1,)), build.inout("c", i32, (n + 1,))
    with build.loops(i=n) as i:
        with build.statement("A"):
            y[i] = b[i]
        with build.statement("B"):
            b[i + 1] = c[i]
        with build.statement("C"):
            c[i + 1] = 2
    found = amounts(Schedule(build.kernel()).reverse("i"), "i")
    assert found == {"A": 4, "B": 2, "C": 0}


def test_a_backward_dependence_of_a_statement_on_itself_cannot_be_shifted_away() -> None:
    assert amounts(Schedule(copy_shifted(0, 1)).reverse("j"), "j") is None


def test_a_distance_without_bound_cannot_be_shifted_away() -> None:
    assert amounts(Schedule(producer_consumer(1)).reverse("C.i").fuse("P.i", "C.i"), "i") is None


def test_shifts_are_inserted_after_the_fusion() -> None:
    schedule = Schedule(jacobi()).fuse("there.i", "back.i").split("i", 4)
    (edit,) = shifts(case_of(schedule))
    assert (edit.first, edit.removed, edit.inserted) == (1, 0, (Shift("i", 1, "back"),))


def test_one_statement_cannot_be_shifted_against_itself() -> None:
    assert shifts(case_of(Schedule(copy_shifted(1, -1)).reorder("j", "i"))) == []
