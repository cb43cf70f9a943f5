"""Benchmark of the legality checker: random pairs, real schedules, and a hostile schedule."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any

from polysched.bench.conv.kernel import best, conv2d_relu, tutorial
from polysched.errors import BenchError
from polysched.fuzz.campaign import Outcome, Plan, run
from polysched.fuzz.report import record
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32
from polysched.ir.isl.budget import DEFAULT_SECONDS
from polysched.legality.check import check
from polysched.schedule.schedule import Schedule

DEFAULT_PAIRS = 2000
"""Some two minutes on two cores."""

HOSTILE_LEVELS = 12


@dataclass(frozen=True)
class CheckTime:
    """Time of the checker for one schedule: medians over runs, in seconds."""

    what: str
    steps: int
    verdict: str
    cpu_seconds: float
    wall_seconds: float
    runs: int


@dataclass(frozen=True)
class LegalityResult:
    """Times of the checker, and its verdicts on random pairs.

    Attributes:
        hostile: the time for a schedule that the checker cannot decide in time.
        limit: the time limit of the checker, wall time in seconds.
    """

    outcome: Outcome
    checks: tuple[CheckTime, ...]
    hostile: CheckTime
    limit: float

    def as_record(self) -> dict[str, Any]:
        """The results as JSON data."""
        return {
            "random": record(self.outcome),
            "checks": [asdict(check) for check in self.checks],
            "hostile": {**asdict(self.hostile), "limit_seconds": self.limit},
        }


def matmul() -> Kernel:
    """``C = A @ B`` of 1024 x 1024 floats; the order of the sum is free."""
    size = 1024
    build = KernelBuilder("matmul")
    a = build.input("A", f32, (size, size), dimensions="i k")
    b = build.input("B", f32, (size, size), dimensions="k j")
    c = build.output("C", f32, (size, size), dimensions="i j")
    with build.loops(i=size, j=size) as (i, j), build.statement("init"):
        c[i, j] = 0.0
    with build.loops(i=size, j=size, k=size) as (i, j, k), build.statement("update", order="any"):
        c[i, j] += a[i, k] * b[k, j]
    return build.kernel()


def packed_matmul() -> Schedule:
    """Tiles for three caches and the registers, both operands packed, partial tiles all over."""
    return (
        Schedule(matmul())
        .split("update.j", 512, ("jc", "jr"))
        .split("k", 256, ("kc", "kr"))
        .split("update.i", 96, ("ic", "ir"))
        .split("jr", 32, ("jt", "ji"))
        .split("ir", 6, ("it", "ii"))
        .reorder("jc", "kc", "ic", "jt", "it", "kr", "ii", "ji")
        .pack("B", at="kc", order=("k", "j"))
        .pack("A", at="ic", order=("k", "i"))
        .promote("C", at="it", lanes=16)
        .vectorize("ji", 16)
        .unroll("ii", "ji")
    )


def hostile() -> Schedule:
    """A stencil in place, skewed, then tiled over and over: dozens of splits, half of them odd."""
    build = KernelBuilder("stencil")
    steps, size = build.parameter("T", minimum=1), build.parameter("N", minimum=3)
    a = build.inout("A", f32, (size, size))
    with build.loops(t=steps, i=(1, size - 1), j=(1, size - 1)) as (_, i, j):
        a[i, j] = a[i - 1, j] + a[i, j - 1] + a[i, j] + a[i, j + 1] + a[i + 1, j]
    schedule = Schedule(build.kernel()).skew("i", by="t").skew("j", by="t")
    outer, inner = [], ["t", "i", "j"]
    for level in range(HOSTILE_LEVELS):
        for place, name in enumerate(inner):
            into = f"{'tij'[place]}{level}", f"{'tij'[place]}r{level}"
            schedule = schedule.split(name, (7, 5, 3, 2)[level % 4], into)
            outer.append(into[0])
            inner[place] = into[1]
    return schedule.reorder(*outer, *inner)


SCHEDULES: Mapping[str, Callable[[], Schedule]] = MappingProxyType(
    {
        "convolution, tutorial": lambda: tutorial(conv2d_relu()),
        "convolution, best": lambda: best(conv2d_relu()),
        "matmul, packed and tiled": packed_matmul,
    }
)
"""Schedules to time the checker with."""


def time_check(
    what: str, schedule: Schedule, runs: int, *, seconds: float = DEFAULT_SECONDS
) -> CheckTime:
    """Check a schedule several times.

    Args:
        seconds: the time limit of the checker, wall time.
    """
    cpu, wall, verdicts = [], [], set()
    for _ in range(runs):
        # A program of its own, because the verdict of a legal program is cached.
        *earlier, last = schedule.programs
        again = replace(schedule, programs=(*earlier, replace(last)))
        started, busy = time.perf_counter(), time.process_time()
        verdicts.add(check(again, seconds=seconds).kind.value)
        cpu.append(time.process_time() - busy)
        wall.append(time.perf_counter() - started)
    return CheckTime(
        what,
        len(schedule.steps),
        " or ".join(sorted(verdicts)),
        statistics.median(cpu),
        statistics.median(wall),
        runs,
    )


def measure_legality(
    plan: Plan,
    *,
    runs: int = 9,
    limit: float = DEFAULT_SECONDS,
    progress: Callable[[str], None] | None = None,
) -> LegalityResult:
    """Judge random pairs, then time the checks.

    Args:
        runs: checks of each real schedule.
        limit: the wall time for the hostile schedule, in seconds.
    """
    if runs < 1:
        raise BenchError(f"a median needs at least 1 run, got runs={runs}")
    outcome = run(plan, progress)
    checks = []
    for name, make in SCHEDULES.items():
        if progress is not None:
            progress(f"checking {name}")
        checks.append(time_check(name, make(), runs))
    if progress is not None:
        progress("checking a hostile schedule")
    deep = time_check("hostile tiling", hostile(), 1, seconds=limit)
    return LegalityResult(outcome, tuple(checks), deep, limit)
