"""Measure the costs of this machine's core, caches and TLB with one small kernel for each number.

A kernel repeats one access pattern or operation. Its cycles are its time multiplied by the clock
that a burst of FMAs measures beside it (:mod:`polysched.machine.peak`), so a clock that changes
between runs does not change the result. Interruptions make runs longer, so the shortest counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, f32, u8
from polysched.ir.expr.functions import exp
from polysched.machine.contraction_model import near_l3_bytes
from polysched.machine.costs import CALIBRATED, Costs
from polysched.machine.description import Machine
from polysched.machine.peak import PeakMeter
from polysched.runtime.memory import aligned_zeros
from polysched.user import Schedule

RUNS = 50
"""Timed runs of each kernel."""
SHORTEST = 0.0004
"""Seconds of one run, at least: less than the time slices of a busy system."""
ROWS = 4
"""Rows that a stream reads side by side."""
CHAINS = 8
"""Independent sums of the kernels that read single elements: they hide the latency of additions."""

Run = Callable[[int], None]
"""A call of a kernel that repeats its work the given number of times."""


@dataclass(frozen=True)
class Calibration:
    """Measured costs, by the names of their fields in `Costs`."""

    measured: Mapping[str, float]

    def machine(self, machine: Machine) -> Machine:
        """Return a machine with the measured costs in place of its own."""
        measured: dict[str, Any] = dict(self.measured)  # all are fields of numbers with decimals
        return replace(machine, costs=replace(machine.costs, **measured))

    def rows(self, costs: Costs) -> Iterator[tuple[str, float, float]]:
        """Return name, cost in use and measured cost of each number."""
        for name, cycles in self.measured.items():
            yield name, getattr(costs, name), cycles


def calibrate(machine: Machine, progress: Callable[[str], None] = lambda name: None) -> Calibration:
    """Measure the costs in `CALIBRATED` on this host.

    Args:
        machine: the machine whose vectors the kernels use; this host must run its code.
    """
    stopwatch = _Stopwatch(machine)
    measure: dict[str, Callable[[], float]] = {
        "line_into_l1": lambda: stopwatch.stream(_between(machine, 1)),
        "line_into_l2": lambda: stopwatch.stream(_between(machine, 2)),
        "line_into_l3": lambda: stopwatch.stream(4 * near_l3_bytes(machine)),
        "near_page": lambda: stopwatch.pages(4 * machine.costs.near_pages),
        "far_page": lambda: stopwatch.pages(4 * machine.costs.far_pages),
        "gathered_lane": lambda: stopwatch.gather(f32),
        "gathered_narrow_lane": lambda: stopwatch.gather(u8),
        "division": lambda: stopwatch.elementwise("division"),
        "vector_function": lambda: stopwatch.elementwise("exp"),
    }
    measured = {}
    for name in CALIBRATED:
        progress(name)
        # A cost of zero cycles is no cost of a machine, but noise of the measurement.
        measured[name] = round(max(measure[name](), 0.01), 2)
    return Calibration(measured)


def _between(machine: Machine, level: int) -> int:
    """Bytes that lie well between the sizes of a cache and of the next larger one."""
    return int((machine.cache_bytes(level) * machine.cache_bytes(level + 1)) ** 0.5)


class _Stopwatch:
    """Runs kernels on one machine and counts their cycles."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.meter = PeakMeter(machine)
        self.flops_per_cycle = machine.flops_per_cycle(32)

    def cycles(self, run: Run) -> float:
        """Return the least cycles of one repetition in several runs."""
        repetitions = 1
        while min(_seconds(run, repetitions) for _ in range(3)) < SHORTEST:
            repetitions *= 2
        cycles = []
        for _ in range(RUNS):
            before = self.meter.burst(SHORTEST)
            seconds = _seconds(run, repetitions)
            clock = max(before, self.meter.burst(SHORTEST)) / self.flops_per_cycle
            cycles.append(seconds * clock / repetitions)
        return min(cycles)

    def stream(self, size: int) -> float:
        """Return the cycles of a cache line when rows of an array of some bytes are summed."""
        lanes = self.machine.lanes(32)
        columns = max(1, size // (4 * ROWS * lanes)) * lanes
        build = KernelBuilder("stream")
        times = build.parameter("times", minimum=1)
        x = build.input("x", f32, (ROWS, columns))
        sums = build.inout("sums", f32, (ROWS, lanes))
        with build.loops(t=times, i=columns // lanes, r=ROWS, v=lanes) as (_, i, r, v):
            sums[r, v] += x[r, lanes * i + v]
        schedule = Schedule(build.kernel()).vectorize("v", lanes).unroll("r")
        values = aligned_zeros((ROWS, columns), np.dtype("f4"))
        values[:] = 0.0  # writing maps a page of its own for each part
        run = _run(schedule, self.machine, values, np.zeros((ROWS, lanes), "f4"))
        return self.cycles(run) / (ROWS * columns * 4 / 64)

    def pages(self, rows: int) -> float:
        """Return the cycles that an access to another page costs beyond one to another line."""
        line = 64
        apart = self._column(rows, self.machine.page_bytes + line)
        return apart - self._column(rows, line)

    def _column(self, rows: int, pitch: int) -> float:
        """Return the cycles of an element when one float of each row is summed."""
        build = KernelBuilder("column")
        times = build.parameter("times", minimum=1)
        x = build.input("x", f32, (rows, pitch // 4))
        sums = build.inout("sums", f32, (CHAINS,))
        with build.loops(t=times, i=rows // CHAINS, c=CHAINS) as (_, i, c):
            sums[c] += x[CHAINS * i + c, 0]
        schedule = Schedule(build.kernel()).unroll("c")
        values = aligned_zeros((rows, pitch // 4), np.dtype("f4"))
        values[:] = 0.0
        return self.cycles(_run(schedule, self.machine, values, np.zeros(CHAINS, "f4"))) / rows

    def gather(self, dtype: DType) -> float:
        """Return the cycles of a lane when a vector reads one element of each of its rows."""
        lanes = self.machine.lanes(dtype.bits)
        rows = 4 * self.machine.lanes(8)
        pitch = 64 // (dtype.bits // 8) + 1
        build = KernelBuilder("gather")
        times = build.parameter("times", minimum=1)
        x = build.input("x", dtype, (rows, pitch))
        sums = build.inout("sums", dtype, (lanes,))
        with build.loops(t=times, i=rows // lanes, v=lanes) as (_, i, v):
            sums[v] += x[lanes * i + v, 0]
        schedule = Schedule(build.kernel()).vectorize("v", lanes)
        kind = np.dtype(str(dtype).replace("u8", "u1").replace("f32", "f4"))
        run = _run(schedule, self.machine, np.zeros((rows, pitch), kind), np.zeros(lanes, kind))
        return self.cycles(run) / rows

    def elementwise(self, operation: str) -> float:
        """Return the cycles of ``exp`` or of a division for one vector of floats in L1."""
        lanes = self.machine.lanes(32)
        vectors = 32
        build = KernelBuilder("elementwise")
        times = build.parameter("times", minimum=1)
        x = build.input("x", f32, (vectors * lanes,))
        y = build.inout("y", f32, (vectors * lanes,))
        with build.loops(t=times, i=vectors, v=lanes) as (_, i, v):
            at = lanes * i + v
            y[at] = exp(x[at]) if operation == "exp" else 1.5 / x[at]
        schedule = Schedule(build.kernel()).vectorize("v", lanes)
        values = np.full(vectors * lanes, 1.25, "f4")
        return self.cycles(_run(schedule, self.machine, values, np.zeros_like(values))) / vectors


def _run(
    schedule: Schedule, machine: Machine, *arrays: np.ndarray[tuple[int, ...], np.dtype[np.generic]]
) -> Run:
    """Return the compiled kernel as a function of its number of repetitions."""
    compiled = schedule.compile(machine=machine)
    return lambda times: compiled(*arrays, times=times)


def _seconds(run: Run, repetitions: int) -> float:
    start = time.perf_counter()
    run(repetitions)
    return time.perf_counter() - start
