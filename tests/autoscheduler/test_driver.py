"""The autoscheduler as a whole: legal, right, the same every time, and never an error."""

import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import polysched as ps
from polysched.autoscheduler import driver
from polysched.autoscheduler.driver import optimize_schedule
from polysched.autoscheduler.forms.candidate import Candidate
from polysched.autoscheduler.recipes import RECIPES
from polysched.autoscheduler.report import report_of
from polysched.autoscheduler.search import Context, searched
from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.dtypes import DType, bf16, f32, f64, i32, i64
from polysched.ir.isl.budget import is_out_of_time
from polysched.legality.check import check
from polysched.machine.presets import PRESETS
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import assert_agrees
from tests.support.effort import cases, covering
from tests.support.strategies import random_kernels

AVX512 = PRESETS["skylake-avx512"]


def optimized(kernel: Kernel, machine: str = "skylake-avx512") -> Schedule:
    return optimize_schedule(Schedule(kernel), PRESETS[machine]).schedule


@covering(
    1,
    make=[
        kernels.scale,
        kernels.grid,
        kernels.matmul,
        kernels.prefix,
        kernels.seidel,
        kernels.jacobi,
    ],
    dtype=[f64, i32],
)
def test_the_answer_is_legal_and_computes_the_same(make: object, dtype: DType) -> None:
    kernel = make(dtype=dtype)  # type: ignore[operator]
    schedule = optimized(kernel)
    assert check(schedule).is_legal
    assert_agrees(schedule, *(dict.fromkeys(kernel.parameters, size) for size in (1, 9)))


@settings(
    max_examples=cases(2),
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(st.sampled_from([i32, i64, f32, bf16]).flatmap(random_kernels))
def test_random_kernels(kernel: Kernel) -> None:
    if not check(Schedule(kernel)).is_legal:
        return
    schedule = optimized(kernel)
    assert check(schedule).is_legal
    assert_agrees(schedule, *([{"n": n} for n in (0, 1, 9)] if kernel.parameters else [{}]))


def test_lanes_are_those_of_the_machine() -> None:
    wide = optimized(kernels.scale(dtype=f32))
    narrow = optimized(kernels.scale(dtype=f32), "haswell-avx2")
    assert "lanes=16" in wide.trace()
    assert "lanes=8" in narrow.trace()


SCRIPT = """
from tests.autoscheduler.test_driver import optimized
from tests.support import kernels
for kernel in (kernels.matmul(), kernels.jacobi()):
    print(optimized(kernel).trace())
"""


def test_the_same_in_every_process() -> None:
    here = [optimized(kernel).trace() for kernel in (kernels.matmul(), kernels.jacobi())]
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    there = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert there.splitlines() == "\n".join(here).splitlines()
    assert "vectorize" in there


def test_without_time_the_schedule_stays_as_it_is() -> None:
    schedule = ps.optimize(kernels.matmul(), AVX512, seconds=0)
    assert schedule.steps == ()


def test_a_search_that_the_time_limit_ends_says_so() -> None:
    schedule = ps.optimize(kernels.matmul(), AVX512, seconds=1e-6)
    report = schedule.report()
    assert schedule.steps == ()
    assert report.stopped is not None
    assert f"stopped after {report.stopped:.1f} s: the time limit ended the search" in str(report)
    assert "predicted to gain" not in str(report)


def test_what_was_found_before_the_time_limit_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that takes its whole part of the time leaves the rest for the proof."""

    def slow(begin: Candidate, context: Context) -> Candidate:
        found = searched(begin, context)
        while context.recipes is RECIPES and not is_out_of_time():
            pass
        return found

    monkeypatch.setattr(driver, "searched", slow)
    schedule = ps.optimize(kernels.scale(), AVX512, seconds=1)
    report = schedule.report()
    assert "vectorize" in schedule.trace()
    assert report.stopped is not None
    assert schedule.check().is_legal


def test_a_search_that_isl_operations_end_gives_the_best_so_far_in_each_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The limit ends the search before a tile is found; the fallback has vectors and is proved."""
    monkeypatch.setattr(driver, "SEARCH_OPERATIONS", 10_000)
    schedules = [ps.optimize(kernels.matmul(), AVX512) for _ in range(2)]
    report = schedules[0].report()
    assert schedules[0].trace() == schedules[1].trace()
    assert "vectorize" in schedules[0].trace()
    assert schedules[0].check().is_legal
    assert (report.operations, report.stopped) == (10_000, None)
    assert "limited to 10,000 isl operations: the search ended with the best" in str(report)
    assert "predicted to gain" not in str(report)


def test_a_loop_inside_a_vector_is_not_said_to_be_written_out() -> None:
    report = ps.optimize(kernels.matmul(), AVX512).report()
    for loop in report.loops:
        assert (loop.scalar == "it is written out") <= (loop.kind == "unrolled")
    assert "registers that hold values across the innermost loop: " in str(report)


def test_a_finished_search_has_not_stopped() -> None:
    report = ps.optimize(kernels.scale(), AVX512).report()
    assert report.stopped is report.operations is None
    assert "stopped" not in str(report)
    assert "limited" not in str(report)


def test_a_start_is_kept() -> None:
    start = ps.Schedule(kernels.grid(40, 40, dtype=f32)).split("i", 4)
    schedule = ps.optimize(start, AVX512)
    assert schedule.steps[:1] == start.steps
    assert "vectorize" in schedule.trace()


def test_an_illegal_start_gives_its_witness() -> None:
    start = ps.Schedule(kernels.prefix()).vectorize("i", 8)
    with pytest.raises(ps.ScheduleError, match="illegal: vectorize"):
        ps.optimize(start, AVX512)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": 0}, "threads=0; expected a positive integer"),
        ({"sizes": {"q": 4}}, "kernel 'scale' has no parameter 'q'; known are 'n'"),
        ({"sizes": (4,)}, r"sizes=\(4,\); expected a dictionary such as {'n': 1000}"),
        ({"sizes": {"n": 1.5}}, "sizes: n=1.5; expected an integer"),
        ({"sizes": {"n": -4}}, "sizes n=-4 contradict the context of kernel 'scale'"),
    ],
)
def test_bad_arguments(options: dict[str, object], message: str) -> None:
    with pytest.raises(ps.ScheduleError, match=message):
        ps.optimize(kernels.scale(), AVX512, **options)  # type: ignore[arg-type]


def test_only_kernels_and_schedules() -> None:
    with pytest.raises(ps.ScheduleError, match="expected a Kernel or a Schedule; got a int"):
        ps.optimize(3)  # type: ignore[arg-type]


def test_a_carried_loop_gets_no_lanes_but_its_iterations_are_written_out() -> None:
    schedule = ps.optimize(kernels.prefix(dtype=f64), AVX512)
    assert "vectorize" not in schedule.trace()
    assert "unroll" in schedule.trace()
    assert "flow on" in str(schedule.report())


def test_a_short_program_is_not_searched() -> None:
    start = ps.Schedule(kernels.matmul())
    sizes = {"m": 8, "n": 8, "k": 8}
    short = optimize_schedule(start, AVX512, sizes=sizes, worth_cycles=1e5)
    assert short.verdict.is_legal
    assert short.stopped is None
    assert "only vectors in innermost loops and partial sums were tried" in str(
        report_of(short.schedule, AVX512, sizes, short)
    )
    sums = optimize_schedule(
        ps.Schedule(kernels.scalars()), AVX512, sizes={"n": 999}, worth_cycles=1e5
    )
    assert "rfactor" in sums.schedule.trace()
    long = optimize_schedule(start, AVX512, sizes=sizes, worth_cycles=1.0)
    assert "were tried" not in str(report_of(long.schedule, AVX512, sizes, long))
    assert long.after.cycles < short.after.cycles


def test_the_report_says_why_requested_threads_are_not_used() -> None:
    kernel = kernels.scale()
    large = ps.optimize(kernel, threads=2, sizes={"n": 100_000_000}).report()
    assert "threads are legal" not in str(large)
    small = ps.optimize(kernel, threads=2, sizes={"n": 1000}).report()
    assert "not predicted to gain: the program takes less than 4e+05 cycles" in str(small)


def test_the_report_does_not_repeat_why_threads_are_not_used() -> None:
    text = str(ps.optimize(kernels.matmul(), AVX512, sizes={"m": 64, "n": 64, "k": 64}).report())
    outermost = [line for line in text.splitlines() if line.startswith("  for ")]
    said = [line for line in text.splitlines() if "but one thread is requested" in line]
    assert 0 < len(said) <= len(outermost)
    assert all(line.startswith("    serial: ") for line in said)


def test_the_report_counts_small_statements() -> None:
    build = ps.KernelBuilder("many")
    n = build.parameter("n", minimum=1)
    x = build.inout("x", f64, (n, n))
    few = build.output("few", f64, (4,))
    for number in range(4):
        with build.statement(f"one_{number}"):
            few[number] = 1
    with build.loops(i=n, j=n) as (i, j), build.statement("large"):
        x[i, j] = 2 * x[i, j]
    text = str(ps.optimize(build.kernel(), AVX512, sizes={"n": 1000}).report())
    part = text.partition("statements:")[2].partition("loops:")[0]
    assert "large: " in part
    assert "one_" not in part
    assert "4 others: " in part
    assert "each less than 1% of all" in part
