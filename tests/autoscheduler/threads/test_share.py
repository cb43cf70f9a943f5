"""Threads: a parallel loop where the work pays for its regions, proved, with equal results."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

from polysched.autoscheduler.driver import Optimized, optimize_schedule
from polysched.autoscheduler.report import report_of
from polysched.autoscheduler.threads.cuts import FAR
from polysched.frontends.scop import parse_c
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import Loop, LoopKind, loops, path
from polysched.legality.check import check
from polysched.lower import compile
from polysched.machine.load import as_machine
from polysched.machine.presets import PRESETS
from polysched.schedule.primitives.rfactor import Rfactor
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.primitives.split import Split
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees
from tests.support.effort import sampled

MACHINE = PRESETS["skylake-avx512"]


@dataclass(frozen=True)
class Case:
    """A C program and the sizes that make it large enough for threads."""

    text: str
    sizes: dict[str, int]
    fast_math: bool = False
    sweeps: int = 5
    """The size ``T`` of the runs whose results are compared."""

    def kernel(self) -> Kernel:
        program = parse_c(self.text)
        return (program.with_fast_math() if self.fast_math else program).kernel

    def optimized(self, threads: int = 2) -> Optimized:
        return optimize_schedule(
            Schedule(self.kernel()), MACHINE, sizes=self.sizes, threads=threads
        )

    @cached_property
    def shared(self) -> Optimized:
        """The result for two threads, searched once for all tests."""
        return self.optimized()


ROWS_AND_COLUMNS = Case(
    """
    void products(int n, const double A[restrict n][n], const double x[restrict n],
                  double y[restrict n], double z[restrict n])
    {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) y[i] = y[i] + A[i][j] * x[j];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) z[i] = z[i] + A[j][i] * x[j];
    }
    """,
    {"n": 2000},
    fast_math=True,
)
LINE = Case(
    """
    void line(int T, int n, double A[restrict n], double B[restrict n])
    {
        for (int t = 0; t < T; t++) {
            for (int i = 1; i < n - 1; i++) B[i] = A[i-1] + A[i+1];
            for (int i = 1; i < n - 1; i++) A[i] = B[i];
        }
    }
    """,
    {"T": 1000, "n": 100_000},
    sweeps=37,
)
SWEEPS = Case(
    """
    void sweeps(int T, int n, double a[restrict n][n], const double c[restrict n][n])
    {
        for (int t = 0; t < T; t++)
            for (int i = 0; i < n; i++)
                for (int j = 1; j < n; j++) a[i][j] = a[i][j-1] * c[i][j] + a[i][j];
    }
    """,
    {"T": 10, "n": 1000},
)
ELIMINATION = Case(
    """
    void elimination(int n, double A[restrict n][n])
    {
        for (int k = 0; k < n; k++) {
            for (int i = k + 1; i < n; i++) A[i][k] = A[i][k] / A[k][k];
            for (int i = k + 1; i < n; i++)
                for (int j = k + 1; j < n; j++) A[i][j] = A[i][j] - A[i][k] * A[k][j];
        }
    }
    """,
    {"n": 1000},
)
ALTERNATING = Case(
    """
    void alternating(int T, int n, double a[restrict n][n], double b[restrict n][n])
    {
        for (int t = 0; t < T; t++) {
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++) b[i][j] = a[j][i] * 0.5;
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++) a[i][j] = b[j][i] + a[i][j];
        }
    }
    """,
    {"T": 10, "n": 1000},
)
SHORTEST_PATHS = Case(
    """
    void shortest_paths(int n, int d[restrict n][n])
    {
        for (int k = 0; k < n; k++)
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++)
                    d[i][j] = d[i][k] + d[k][j] < d[i][j] ? d[i][k] + d[k][j] : d[i][j];
    }
    """,
    {"n": 1000},
)
PAIRS = Case(
    """
    void pairs(int n, const double x[restrict n], double out[restrict 2])
    {
        double e = 0.0, m = 0.0;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double d = x[i] - x[j];
                e += x[i] * d;
                m += d * d;
            }
        out[0] = e; out[1] = m;
    }
    """,
    {"n": 3000},
    fast_math=True,
)
COUNTS = Case(
    """
    void counts(int n, const unsigned char x[restrict n][n], int h[restrict 256])
    {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) h[x[i][j]] += 1;
    }
    """,
    {"n": 3000},
    fast_math=True,
)
CASES = {
    "alternating": ALTERNATING,
    "rows and columns": ROWS_AND_COLUMNS,
    "line": LINE,
    "sweeps": SWEEPS,
    "elimination": ELIMINATION,
    "shortest paths": SHORTEST_PATHS,
}
SUMS = {"pairs": PAIRS, "counts": COUNTS}
"""Programs whose sums are parts, and which only the first tests below run."""


def parallel_loops(optimized: Optimized) -> list[Loop]:
    tree = optimized.schedule.program.tree
    return [loop for loop in loops(tree) if loop.kind is LoopKind.PARALLEL]


@pytest.mark.parametrize("case", (CASES | SUMS).values(), ids=CASES | SUMS)
def test_work_is_shared_and_proved(case: Case) -> None:
    optimized = case.shared
    shared = {name for loop in parallel_loops(optimized) for name in loop.statements}
    longest = max(optimized.before.costs, key=lambda name: optimized.before.costs[name].cycles)
    assert longest in shared
    assert optimized.verdict.is_legal
    assert check(optimized.schedule).is_legal
    sizes = [{**dict.fromkeys(case.sizes, n), "T": min(n, case.sweeps)} for n in (3, 17, 37)]
    if "T" not in case.sizes:
        sizes = [{"n": size["n"]} for size in sizes]
    assert_agrees(optimized.schedule, *sizes)


@pytest.mark.parametrize("case", sampled([*CASES.values()], 3), ids=sampled([*CASES], 3))
def test_the_schedule_is_the_same_each_time(case: Case) -> None:
    assert case.optimized().schedule.steps == case.shared.schedule.steps


@pytest.mark.parametrize("case", sampled([*CASES.values()], 3), ids=sampled([*CASES], 3))
def test_one_thread_gets_no_parallel_loop(case: Case) -> None:
    assert not parallel_loops(case.optimized(threads=1))


@pytest.mark.parametrize("case", sampled([*CASES.values()], 2), ids=sampled([*CASES], 2))
def test_small_programs_get_no_threads(case: Case) -> None:
    small = Case(case.text, dict.fromkeys(case.sizes, 40), case.fast_math)
    assert not parallel_loops(small.optimized())


@pytest.mark.parametrize("case", [ROWS_AND_COLUMNS, *SUMS.values()], ids=["rows", *SUMS])
def test_parts_of_sums_have_partial_results(case: Case) -> None:
    optimized = case.shared
    assert any(isinstance(step, Rfactor) for step in optimized.schedule.steps)
    reasons = " ".join(decision.reason for decision in optimized.decisions)
    assert "2 threads share 4 parts of the iterations" in reasons


def test_sums_in_order_are_not_cut_into_parts() -> None:
    strict = Case(ROWS_AND_COLUMNS.text, ROWS_AND_COLUMNS.sizes)
    optimized = strict.optimized()
    assert not any(isinstance(step, Rfactor) for step in optimized.schedule.steps)
    assert optimized.verdict.is_legal


@pytest.mark.parametrize("case", [LINE, ELIMINATION], ids=["line", "elimination"])
def test_loops_that_carry_dependences_become_wavefronts(case: Case) -> None:
    optimized = case.shared
    (shared,) = parallel_loops(optimized)
    around = path(optimized.schedule.program.tree, shared.statements[0])
    assert around[around.index(shared) - 1].name == "wave"
    assert any(isinstance(step, Skew) for step in optimized.schedule.steps)


def test_regions_stand_inside_a_serial_loop() -> None:
    optimized = ALTERNATING.shared
    shared = parallel_loops(optimized)
    assert shared
    for loop in shared:
        around = path(optimized.schedule.program.tree, loop.statements[0])
        assert around.index(loop) > 0
        assert around[0].kind is LoopKind.SEQUENTIAL


def test_a_loop_with_independent_iterations_is_moved_outward() -> None:
    optimized = SWEEPS.shared
    (shared,) = parallel_loops(optimized)
    around = path(optimized.schedule.program.tree, shared.statements[0])
    assert around.index(shared) == 0
    assert "t" in {loop.name for loop in around}


def test_rows_before_and_after_the_row_of_a_step_are_shared() -> None:
    optimized = SHORTEST_PATHS.shared
    (shared,) = parallel_loops(optimized)
    around = path(optimized.schedule.program.tree, shared.statements[0])
    assert around.index(shared) > 0
    assert any(isinstance(step, Split) and step.factor == FAR for step in optimized.schedule.steps)


def test_the_machine_code_computes_the_same() -> None:
    host = as_machine(None)
    one, two = (
        compile(
            optimize_schedule(Schedule(LINE.kernel()), host, sizes=LINE.sizes, threads=t).schedule
        )
        for t in (1, 2)
    )
    generator = np.random.default_rng(0)
    a, b = generator.uniform(size=(2, 5000))
    expected, found = (a.copy(), b.copy()), (a.copy(), b.copy())
    one(A=expected[0], B=expected[1], T=70)
    two(A=found[0], B=found[1], T=70, threads=2)
    np.testing.assert_array_equal(found, expected)


def test_the_report_says_why_a_loop_is_serial() -> None:
    optimized = ALTERNATING.shared
    report = report_of(optimized.schedule, MACHINE, optimized.sizes, optimized)
    time_loop = next(entry for entry in report.loops if entry.loop == "t")
    assert time_loop.serial is not None
    assert " on " in time_loop.serial
    assert "threads are legal" not in time_loop.serial
