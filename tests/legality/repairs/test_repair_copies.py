import pytest

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.check import check
from polysched.legality.repairs.repair import apply_edit
from polysched.legality.repairs.repair_copies import copies_for_lanes, copies_for_threads
from polysched.legality.repairs.search import repairs
from polysched.schedule.primitives.parallel import Parallel
from polysched.schedule.primitives.privatize import Privatize
from polysched.schedule.primitives.promote import Promote
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.rfactor import Rfactor
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.primitives.vectorize_reduction import VectorizeReduction
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step
from tests.legality.kernels import copy_shifted, matmul
from tests.legality.repairing import case_of
from tests.schedule.primitives.test_privatize import row, scratch
from tests.schedule.primitives.test_rfactor import dot
from tests.support import kernels
from tests.support.differential import assert_agrees, spread


def proposed(schedule: Schedule) -> list[tuple[Step, ...]]:
    """What is proposed for an illegal schedule; every proposal is legal and computes the same."""
    case = case_of(schedule)
    edits = [*copies_for_threads(case), *copies_for_lanes(case)]
    for edit in edits:
        changed = apply_edit(schedule, edit)
        assert check(changed).is_legal, edit.description
        assert_agrees(changed, *spread(*schedule.kernel.parameters, values=(1, 5, 9)))
    return [edit.inserted for edit in edits]


def test_a_vector_of_partial_results() -> None:
    schedule = Schedule(kernels.scalars()).vectorize("add.i", 4, into="lane")
    assert proposed(schedule) == [
        (VectorizeReduction("add", "i", 4),),
        (
            Split("add.i", 4),
            Reorder(("add.ii", "add.io")),
            Rfactor("add", "add.ii"),
            Vectorize("add.ii", 4, "lane"),
        ),
    ]


def test_the_lanes_of_one_element_lie_side_by_side() -> None:
    schedule = Schedule(kernels.matmul()).reorder("l", "update.i", "update.j").vectorize("l", 4)
    (steps,) = proposed(schedule)
    assert steps[2] == Rfactor("update", "li", order=("d0", "d1", "each_li"))


def test_two_reductions_in_one_loop() -> None:
    (steps,) = proposed(Schedule(kernels.reductions()).vectorize("j", 4))
    assert steps[2:4] == (Rfactor("add", "ji"), Rfactor("compare", "ji"))


def test_a_vector_of_copies() -> None:
    assert proposed(Schedule(scratch()).vectorize("i", 4)) == [
        (Split("i", 4), Privatize("t", "ii"), Vectorize("ii", 4))
    ]
    (steps,) = proposed(Schedule(row()).vectorize("i", 4))
    assert steps[1] == Privatize("t", "ii", order=("d0", "each_ii"))


def test_chunks_for_threads() -> None:
    assert proposed(Schedule(kernels.reductions()).parallel("j")) == [
        (Split("j", 256), Rfactor("add", "jo"), Rfactor("compare", "jo"), Parallel("jo"))
    ]


def test_a_literal_number_of_iterations_makes_sixteen_chunks() -> None:
    assert proposed(Schedule(dot(n=100)).parallel("k")) == [
        (Split("k", 7), Rfactor("S", "ko"), Parallel("ko"))
    ]
    assert proposed(Schedule(dot(n=16)).parallel("k")) == [(Rfactor("S", "k"), Parallel("k"))]


def test_copies_for_threads() -> None:
    assert proposed(Schedule(row()).parallel("i")) == [
        (Promote("t", "i"), Parallel("i")),
        (Privatize("t", "i"), Parallel("i")),
    ]


def sums_of_rows() -> Kernel:
    """``y[i] = sum over j of x[i, j]``, added up in one temporary for all rows."""
    build = KernelBuilder("sums_of_rows")
    n = build.parameter("n", minimum=1)
    x, y = build.input("x", i32, (n, n)), build.output("y", i32, (n,))
    t = build.temporary("t", i32, (1,))
    with build.loops(i=n) as i:
        with build.statement("init"):
            t[0] = 0
        with build.loops(j=n) as j, build.statement("add", order="any"):
            t[0] += x[i, j]
        with build.statement("keep"):
            y[i] = t[0]
    return build.kernel()


@pytest.mark.parametrize(
    ("schedule", "steps"),
    [
        (Schedule(sums_of_rows()).parallel("i"), (Promote("t", "i"), Parallel("i"))),
        (
            Schedule(sums_of_rows()).vectorize("i", 4),
            (Split("i", 4), Privatize("t", "ii"), Vectorize("ii", 4)),
        ),
    ],
    ids=["threads", "lanes"],
)
def test_sums_of_one_iteration_get_copies(schedule: Schedule, steps: tuple[Step, ...]) -> None:
    (repair,) = repairs(schedule)
    assert repair.schedule.steps == steps
    assert_agrees(repair.schedule, *spread("n", values=(1, 5, 9)))


def test_nothing_to_copy() -> None:
    for schedule in (
        Schedule(copy_shifted(1, 0)).parallel("i"),
        Schedule(copy_shifted(0, 1)).vectorize("j", 4),
        Schedule(matmul()).vectorize("k", 4),
        Schedule(matmul()).reverse("k"),
    ):
        assert proposed(schedule) == []
