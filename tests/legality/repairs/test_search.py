"""Whole searches: what is offered for an illegal schedule, and that all of it is legal."""

import random
from collections.abc import Callable

import pytest

from polysched.fuzz.generate.steps import only_reorders
from polysched.fuzz.judge.enumeration import keeps_order
from polysched.fuzz.judge.subject import LARGEST_SIZE
from polysched.ir.core.kernel import Kernel, Order
from polysched.ir.core.tree import executed
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.check import check
from polysched.legality.repairs.repair import OrderEdit
from polysched.legality.repairs.search import repairs
from polysched.loops.verify.last_writer import last_writer_errors
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import copy_shifted, matmul, producer_consumer, seidel, windows
from tests.legality.repairs.test_repair_shift import three_stages
from tests.legality.repairs.test_repair_vector import sum_and_scale
from tests.schedule.primitives.test_privatize import row
from tests.schedule.primitives.test_rfactor import dot
from tests.support.effort import cases
from tests.support.kernels import jacobi, prefix, seidel_plane
from tests.support.random_schedules import random_kernel, random_schedule


def two_sums() -> Kernel:
    """Two prefix sums, one after the other."""
    build = KernelBuilder("two_sums")
    n = build.parameter("n", minimum=1)
    for name in ("S", "T"):
        array = build.inout(name.lower(), i32, (n,))
        with build.loops(i=(1, n)) as i, build.statement(name):
            array[i] = array[i - 1] + array[i]
    return build.kernel()


def offered(schedule: Schedule, **options: int) -> list[str]:
    found = repairs(schedule, **options)
    for repair in found:
        assert check(repair.schedule).is_legal, repair.description
    return [repair.description for repair in found]


OFFERED: dict[str, tuple[Callable[[], Schedule], list[str]]] = {
    "tiles of a stencil in place": (
        lambda: Schedule(seidel_plane()).tile(("s", "i", "j"), (4, 8, 8)),
        [
            "skew(loop='i', by='s').skew(loop='j', by='s') before "
            "tile(loops=('s', 'i', 'j'), factors=(4, 8, 8))",
            "tile(loops=('i', 'j'), factors=(8, 8)) instead of "
            "tile(loops=('s', 'i', 'j'), factors=(4, 8, 8))",
        ],
    ),
    "the same by split and reorder": (
        lambda: Schedule(seidel()).split("t", 4).split("i", 8).reorder("to", "io", "ti", "ii"),
        ["skew(loop='i', by='t') before split(loop='t', factor=4)"],
    ),
    "a consumer fused too closely": (
        lambda: Schedule(producer_consumer(1)).fuse("P.i", "C.i"),
        [
            "shift(loop='i', amount=1, statement='C') after fuse(first='P.i', second='C.i')",
            "leave out fuse(first='P.i', second='C.i')",
        ],
    ),
    "three stages fused": (
        lambda: Schedule(three_stages()).fuse("A.i", "B.i").fuse("A.i", "C.i", into="k"),
        [
            "shift(loop='A.i', amount=1, statement='B') after fuse(first='A.i', second='B.i'); "
            "then shift(loop='k', amount=3, statement='C') after "
            "fuse(first='A.i', second='C.i', into='k')",
            "shift(loop='A.i', amount=1, statement='B') after fuse(first='A.i', second='B.i'); "
            "then leave out fuse(first='A.i', second='C.i', into='k')",
        ],
    ),
    "sweeps fused and tiled": (
        lambda: Schedule(jacobi()).fuse("there.i", "back.i").tile(("s", "i"), (4, 16)),
        [
            "shift(loop='i', amount=1, statement='back') after "
            "fuse(first='there.i', second='back.i'); then "
            "skew(loop='i', by='s', factor=2) before tile(loops=('s', 'i'), factors=(4, 16))"
        ],
    ),
    "too many lanes": (
        lambda: Schedule(copy_shifted(0, 2)).vectorize("j", 16),
        [
            "vectorize(loop='j', lanes=2) instead of vectorize(loop='j', lanes=16)",
            "vectorize(loop='i', lanes=16) instead of vectorize(loop='j', lanes=16)",
        ],
    ),
    "lanes along a reduction": (
        lambda: Schedule(matmul("any")).vectorize("k", 8),
        [
            "vectorize_reduction(statement='update', loop='k', lanes=8) instead of "
            "vectorize(loop='k', lanes=8)",
            "vectorize(loop='update.j', lanes=8) instead of vectorize(loop='k', lanes=8)",
        ],
    ),
    "threads along a reduction": (
        lambda: Schedule(matmul("any")).reorder("k", "update.i", "update.j").parallel("k"),
        [
            "split(loop='k', factor=256).rfactor(statement='update', loop='ko')"
            ".parallel(loop='ko') instead of parallel(loop='k')",
            "parallel(loop='update.i') instead of parallel(loop='k')",
        ],
    ),
    "threads that share a scratch row": (
        lambda: Schedule(row()).parallel("i"),
        [
            "promote(array='t', at='i').parallel(loop='i') instead of parallel(loop='i')",
            "parallel(loop='P.j') instead of parallel(loop='i')",
        ],
    ),
    "lanes along a reduction in the program's order": (
        lambda: Schedule(dot(order="exact")).vectorize("k", 8),
        [
            "declare statement 'S' with order=\"any\", if its instances may combine in another "
            "order than the program's; then "
            "vectorize_reduction(statement='S', loop='k', lanes=8) instead of "
            "vectorize(loop='k', lanes=8)"
        ],
    ),
    "lanes for a prefix sum and for another statement": (
        lambda: Schedule(sum_and_scale()).vectorize("i", 8),
        [
            "distribute(loop='i').vectorize(loop='T.i', lanes=8) instead of "
            "vectorize(loop='i', lanes=8)"
        ],
    ),
    "another order": (
        lambda: Schedule(seidel_plane()).reorder("j", "i", "s"),
        [
            "skew(loop='i', by='s').skew(loop='j', by='s') before reorder(order=('j', 'i', 's'))",
            "reorder(order=('s', 'j', 'i')) instead of reorder(order=('j', 'i', 's'))",
        ],
    ),
    "a reduction whose order was not given up": (
        lambda: Schedule(matmul()).reverse("k"),
        [
            "declare statement 'update' with order=\"any\", if its instances may combine in "
            "another order than the program's"
        ],
    ),
    "a recurrence in vectors": (
        lambda: Schedule(prefix()).vectorize("i", 8),
        ["leave out vectorize(loop='i', lanes=8)"],
    ),
    "tiles that take turns": (
        lambda: Schedule(windows()).promote("t", "i").distribute("k").distribute("i"),
        ["leave out distribute(loop='i')"],
    ),
    "two faults that have nothing to do with each other": (
        lambda: Schedule(two_sums()).reverse("S.i").reverse("T.i"),
        ["leave out reverse(loop='S.i'); then leave out reverse(loop='T.i')"],
    ),
}


@pytest.mark.parametrize("name", OFFERED)
def test_offered(name: str) -> None:
    schedule, expected = OFFERED[name]
    assert offered(schedule()) == expected


def test_a_legal_schedule_needs_none() -> None:
    assert repairs(Schedule(matmul()).tile(("update.i", "update.j"), (4, 4))) == ()


def test_a_kernel_at_fault_cannot_be_mended_by_steps() -> None:
    assert repairs(Schedule(copy_shifted(3, 0)).reverse("j")) == ()


def test_an_unknown_verdict_has_no_repairs() -> None:
    schedule = Schedule(seidel()).tile(("t", "i"), (4, 8))
    assert repairs(schedule, verdict=check(schedule, quota=10)) == ()


def test_the_limit_is_kept() -> None:
    schedule = Schedule(seidel_plane()).tile(("s", "i", "j"), (4, 8, 8))
    assert len(offered(schedule, limit=1)) == 1
    assert repairs(schedule, limit=0) == ()


def test_no_time_no_repairs() -> None:
    assert repairs(Schedule(seidel()).tile(("t", "i"), (4, 8)), seconds=1e-9) == ()


def test_a_free_reduction_comes_with_its_kernel() -> None:
    schedule = Schedule(matmul()).reverse("k")
    (repair,) = repairs(schedule)
    assert repair.edits == (OrderEdit(repair.description, "update"),)
    reduction = repair.schedule.kernel.statements["update"].reduction
    assert reduction is not None
    assert reduction.order is Order.ANY
    assert repair.schedule.steps == schedule.steps


def test_repairs_of_random_schedules_are_legal_by_running_them() -> None:
    mended = 0
    for seed in range(cases(30)):
        integers = random.Random(seed).randint
        kernel = random_kernel(integers)
        for repair in repairs(random_schedule(integers, kernel, buffers=False)):
            if not any(isinstance(edit, OrderEdit) for edit in repair.edits):
                mended += 1
                tree = executed(repair.schedule.program.tree)
                for size in range(1, LARGEST_SIZE + 1):
                    sizes = dict.fromkeys(kernel.parameters, size)
                    if only_reorders(repair.schedule):
                        assert keeps_order(kernel, tree, sizes), repair.description
                    else:
                        assert not last_writer_errors(repair.schedule, sizes), repair.description
    assert mended >= 3
