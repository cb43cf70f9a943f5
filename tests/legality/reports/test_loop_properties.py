import random
from collections import Counter

import pytest

from polysched.dependence.relations import DependenceKind
from polysched.ir.core.tree import LoopKind
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.check import check
from polysched.legality.reports.loop_properties import LoopReport, Obstacle, explain_loops
from polysched.schedule.primitives.prefetch import Prefetch
from polysched.schedule.primitives.vectorize import LARGEST_LANES
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import copy_shifted, matmul, producer_consumer, seidel
from tests.support.effort import cases
from tests.support.kernels import jacobi
from tests.support.random_schedules import random_kernel, random_schedule

FLOW, ANTI, OUTPUT = DependenceKind.FLOW, DependenceKind.ANTI, DependenceKind.OUTPUT


def reports(schedule: Schedule) -> dict[str, LoopReport]:
    return {report.loop: report for report in explain_loops(schedule)}


def test_a_stencil_in_place() -> None:
    found = reports(Schedule(seidel()))
    assert list(found) == ["t", "i"]
    t, i = found.values()
    assert (t.depth, t.statements, t.inner, i.depth, i.inner) == (0, ("S",), "i", 1, None)
    assert not t.is_parallel
    assert not t.is_permutable
    assert Obstacle(FLOW, "A", "S", "S", False, ((1, None), (-1, -1))) in t.ordered
    assert Obstacle(OUTPUT, "A", "S", "S", False, ((1, None),)) in t.serial
    assert {one.kind for one in i.serial} == {FLOW, ANTI}
    # Reads come before writes, so what is read to the right does no harm to a vector.
    assert i.lanes == 1
    assert i.scalar == (Obstacle(FLOW, "A", "S", "S", False, ((1, 1),)),)


def test_a_skewed_stencil_is_permutable() -> None:
    t = reports(Schedule(seidel()).skew("i", "t"))["t"]
    assert t.is_permutable
    assert t.ordered == ()


def test_the_outer_loop_leaves_the_inner_ones_free() -> None:
    found = reports(Schedule(copy_shifted(1, -1)))
    assert found["i"].serial == (Obstacle(FLOW, "A", "S", "S", False, ((1, 1),)),)
    assert found["i"].ordered == (Obstacle(FLOW, "A", "S", "S", False, ((1, 1), (-1, -1))),)
    assert found["j"].is_parallel
    assert found["j"].lanes == LARGEST_LANES
    assert found["j"].scalar == ()


@pytest.mark.parametrize(("column", "lanes"), [(1, 1), (2, 2)])
def test_vectors_are_as_long_as_the_distance_allows(column: int, lanes: int) -> None:
    j = reports(Schedule(copy_shifted(0, column)))["j"]
    assert j.lanes == lanes
    assert j.scalar == (Obstacle(FLOW, "A", "S", "S", False, ((column, column),)),)


def test_a_free_reduction_is_neither_parallel_nor_a_vector_but_permutable() -> None:
    found = reports(Schedule(matmul("any")))
    assert found["k"].lanes == 1
    assert all(one.reduction for one in (*(found["k"].serial or ()), *(found["k"].scalar or ())))
    assert found["update.j"].is_permutable
    assert found["update.i"].is_parallel
    assert found["init.i"].is_parallel


def test_statements_that_feed_each_other() -> None:
    s = reports(Schedule(jacobi()).fuse("there.i", "back.i").shift("i", 1, "back"))["s"]
    assert s.ordered == (
        Obstacle(FLOW, "a", "back", "there", False, ((1, None), (-2, -1))),
        Obstacle(ANTI, "b", "back", "there", False, ((1, None), (-2, -1))),
    )


def test_an_illegal_loop_runs_backwards() -> None:
    i = reports(Schedule(producer_consumer(1)).fuse("P.i", "C.i"))["i"]
    assert i.serial == (Obstacle(FLOW, "t", "P", "C", False, ((-1, -1),)),)
    assert i.inner is None
    assert not i.is_permutable


def test_vector_and_unrolled_loops_are_what_they_are() -> None:
    found = reports(Schedule(copy_shifted(1, 0)).unroll("i", factor=2).vectorize("j", 4))
    assert [(one.kind, one.lanes, one.inner) for one in found.values()] == [
        (LoopKind.SEQUENTIAL, None, "ii"),
        (LoopKind.UNROLLED, None, "j"),
        (LoopKind.SEQUENTIAL, None, None),
        (LoopKind.VECTOR, None, None),
    ]
    outside = reports(Schedule(matmul()).vectorize("update.j", 4))
    assert (outside["jv"].inner, outside["k"].lanes) == (None, None)


def test_a_parallel_loop_does_not_come_outside() -> None:
    found = reports(Schedule(copy_shifted(1, 0)).parallel("j"))
    assert found["i"].inner is None
    assert not found["i"].is_permutable
    assert reports(Schedule(copy_shifted(1, 0)).parallel("i"))["i"].inner == "j"


def test_no_loops_no_reports() -> None:
    build = KernelBuilder("one")
    one = build.output("one", i32, ())
    with build.statement("S"):
        one[()] = 1
    assert explain_loops(Schedule(build.kernel())) == ()


def test_reports_say_what_the_checker_says_of_the_changed_schedule() -> None:
    seen: Counter[tuple[str, bool]] = Counter()
    for seed in range(cases(50)):
        integers = random.Random(seed).randint
        schedule = random_schedule(integers, random_kernel(integers), buffers=False)
        # A loop that prefetches may not be taken apart, legal or not.
        if any(isinstance(step, Prefetch) for step in schedule.steps):
            continue
        if not check(schedule).is_legal:
            continue
        for report in explain_loops(schedule):
            if report.ordered is None or report.scalar is None:
                continue  # unknown: more than isl may spend
            if report.inner:
                legal = check(schedule.reorder(report.inner, report.loop)).is_legal
                assert legal == report.is_permutable, (seed, report)
                seen["permutable", legal] += 1
            for lanes, expected in ((report.lanes, True), (2 * (report.lanes or 0), False)):
                if lanes is not None and 2 <= lanes <= LARGEST_LANES:
                    legal = check(schedule.vectorize(report.loop, lanes)).is_legal
                    assert legal == expected, (seed, report)
                    seen["vector", legal] += 1
    assert len(seen) == 4


def test_what_takes_too_long_is_unknown() -> None:
    t, i = explain_loops(Schedule(seidel()), quota=10)
    assert (t.serial, t.lanes, t.scalar, t.inner, t.ordered) == (None, 1, None, "i", None)
    assert (i.inner, i.ordered) == (None, ())
    assert not any((t.is_parallel, t.is_permutable, i.is_parallel))


def test_the_time_for_all_loops_together() -> None:
    schedule = Schedule(matmul())
    found = explain_loops(schedule, seconds=1e-9)
    assert len(found) == len(explain_loops(schedule))
    assert {report.serial for report in found} == {None}


def test_lanes_share_the_memory_of_a_buffer() -> None:
    build = KernelBuilder("twice")
    x, y = build.input("x", i32, (64,)), build.output("y", i32, (64,))
    with build.loops(o=64) as o, build.statement("S"):
        y[o] = x[o] * 2
    schedule = Schedule(build.kernel()).split("o", 8).pack("x", at="oo")
    found = reports(schedule)
    assert found["oo"].is_parallel
    assert found["oo"].lanes == 1
    assert {one.shared_memory for one in found["oo"].scalar or ()} == {True}
    assert found["oi"].lanes == LARGEST_LANES
    private = schedule.privatize("x_packed", at="oo")
    assert reports(private)["oo"].lanes == LARGEST_LANES
