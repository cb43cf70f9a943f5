import pytest

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.repairs.repair_storage import recomputations, without_temporaries
from polysched.legality.repairs.search import repairs
from polysched.schedule.primitives.compute_at import ComputeAt
from polysched.schedule.primitives.fold_storage import FoldStorage
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import format_step
from tests.legality.repairing import case_of
from tests.support import kernels
from tests.support.differential import assert_agrees, spread


def window(width: int, n: int | None = None) -> Kernel:
    """``C[i]`` from ``t[i]`` and ``t[i + width]``."""
    build = KernelBuilder("window")
    size = kernels.extent(build, "n", n, minimum=width)
    x, y = build.input("x", i32, (size + width,)), build.output("y", i32, (size,))
    t = build.temporary("t", i32, (size + width,))
    with build.loops(i=size + width) as i, build.statement("P"):
        t[i] = 2 * x[i]
    with build.loops(i=size) as i, build.statement("C"):
        y[i] = t[i] - t[i + width]
    return build.kernel()


def folded(width: int, size: int, n: int | None = None) -> Schedule:
    schedule = Schedule(window(width, n)).shift("C.i", width).fuse("P.i", "C.i")
    return schedule.fold_storage("t", "d0", size)


@pytest.mark.parametrize("size", [3, 4])
def test_a_slot_or_two_more(size: int) -> None:
    repair = repairs(folded(4, size))[0]
    assert repair.schedule.steps[-1] == FoldStorage("t", "d0", 5)
    assert repair.description == (
        "fold_storage(array='t', dimension='d0', size=5) instead of "
        f"fold_storage(array='t', dimension='d0', size={size})"
    )
    assert_agrees(repair.schedule, *spread("n", values=(4, 7, 9)))


def test_many_slots_more() -> None:
    repair = repairs(folded(30, 2))[0]
    assert repair.schedule.steps[-1] == FoldStorage("t", "d0", 40)


def test_no_more_than_there_are_elements() -> None:
    apart = Schedule(window(2, 3)).fold_storage("t", "d0", 2)
    found = repairs(apart)
    assert all(FoldStorage("t", "d0", 5) not in repair.schedule.steps for repair in found)
    assert found[0].description.startswith("leave out fold_storage")


def test_computed_again_in_every_tile() -> None:
    schedule = Schedule(kernels.blur()).split("C.i", 4).compute_at("t", "io").parallel("io")
    found = [
        repair.schedule
        for repair in repairs(schedule)
        if ComputeAt("t", "io", recompute=True) in repair.schedule.steps
    ]
    assert found
    assert_agrees(found[0], *spread("n", "m"))


def test_the_guilty_step_itself_computes_again() -> None:
    schedule = Schedule(kernels.blur()).split("C.i", 4).parallel("io").compute_at("t", "io")
    case = case_of(schedule)
    assert case.index == 2
    assert [edit.inserted for edit in recomputations(case)] == [
        (ComputeAt("t", "io", recompute=True),)
    ]


def squares() -> Kernel:
    """A scalar that every iteration overwrites, as a C loop body has."""
    build = KernelBuilder("squares")
    n = build.parameter("n", minimum=1)
    x, y = build.input("x", i32, (n, n)), build.output("y", i32, (n, n))
    t = build.temporary("t", i32, ())
    with build.loops(i=n, j=n) as (i, j):
        with build.statement("T"):
            t[()] = x[i, j] + 1
        with build.statement("Y"):
            y[i, j] = t[()] * t[()]
    return build.kernel()


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(squares()).tile(("i", "j"), (4, 4)),
        Schedule(squares()).vectorize("j", 8),
        Schedule(squares()).parallel("i"),
    ],
    ids=["tile", "vectorize", "parallel"],
)
def test_a_scalar_that_passes_a_value_on_is_not_needed(schedule: Schedule) -> None:
    found = {repair.description: repair for repair in repairs(schedule)}
    repair = found[f"simplify() before {format_step(schedule.steps[0])}"]
    assert repair.schedule.steps[1:] == schedule.steps
    assert_agrees(repair.schedule, *spread("n", values=(1, 5, 9)))


def test_an_array_in_place_stays() -> None:
    """An array in place is no temporary."""
    assert without_temporaries(case_of(Schedule(kernels.seidel_plane()).reverse("i"))) == []
