from collections.abc import Callable

import pytest

from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.check import check
from polysched.legality.reports.loop_properties import explain_loops
from polysched.legality.reports.loop_reports import format_loop_reports
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import copy_shifted, matmul, producer_consumer, seidel
from tests.support.kernels import jacobi, prefix

SCHEDULES = {
    "seidel": lambda: Schedule(seidel()),
    "seidel_skewed": lambda: Schedule(seidel()).skew("i", "t").tile(("t", "i"), (4, 8)),
    "jacobi_fused": lambda: Schedule(jacobi()).fuse("there.i", "back.i").shift("i", 1, "back"),
    "matmul": lambda: Schedule(matmul("any")).vectorize("update.j", 8),
    "producer_consumer_fused": lambda: Schedule(producer_consumer(1)).fuse("P.i", "C.i"),
    "prefix": lambda: Schedule(prefix()),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_reports(name: str, check_golden: Callable[[str, str], None]) -> None:
    text = format_loop_reports(explain_loops(SCHEDULES[name]()))
    check_golden(f"legality/properties_{name}.txt", text)


def test_some_lanes() -> None:
    text = format_loop_reports(explain_loops(Schedule(copy_shifted(0, 2))))
    assert text.splitlines()[-4:] == [
        "    parallel: no",
        "      flow on A from S to S, distance 2",
        "    vector: up to 2 lanes",
        "      flow on A from S to S, distance 2",
    ]


def test_unknown() -> None:
    lines = format_loop_reports(explain_loops(Schedule(seidel()), quota=10)).splitlines()
    unknown = "unknown: isl could not decide it within its quota"
    assert lines[:4] == [
        "for t: S",
        f"  parallel: {unknown}",
        f"  vector: {unknown}",
        f"  permutable with i: {unknown}",
    ]


def test_nothing_to_say() -> None:
    assert format_loop_reports(()) == ""


def test_a_sum_whose_order_is_free_gets_the_step_that_vectorizes_it() -> None:
    build = KernelBuilder("rows")
    n = build.parameter("n", minimum=1)
    x, y = build.input("x", i32, (n, n)), build.inout("y", i32, (n,))
    with build.loops(i=n, k=n) as (i, k), build.statement("total"):
        y[i] += x[i, k]
    schedule = Schedule(build.kernel())
    text = format_loop_reports(explain_loops(schedule))
    assert "hint: vectorize_reduction('total', 'k') gives each lane a partial result" in text
    assert check(schedule.vectorize_reduction("total", "k")).is_legal
    # Around the other loop, the sum is not alone in its loop.
    assert "hint: vec" not in format_loop_reports(explain_loops(schedule.reorder("k", "i")))
