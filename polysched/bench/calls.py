"""Benchmark of call overhead: the time of calls that compute next to nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from timeit import repeat
from typing import Any

import numpy as np

from polysched.ir.declare.builder import KernelBuilder
from polysched.library.matmul.dispatch.call import matmul
from polysched.library.transpose.call import transpose
from polysched.lower import compile
from polysched.machine.description import Machine
from polysched.runtime.kernel import CompiledKernel
from polysched.schedule.schedule import Schedule

SIZE = 16
"""Elements of each array of the kernels, and rows and columns of the library's matrices."""

_BURST = 50
"""Calls that are timed together, some 0.2 ms: short enough to run undisturbed now and then."""


@dataclass(frozen=True)
class CallTime:
    """The least time of a call."""

    call: str
    nanoseconds: float
    bursts: int


def measure_calls(
    bursts: int, machine: Machine | None = None, progress: Callable[[str], None] = lambda _: None
) -> tuple[CallTime, ...]:
    """Time warm calls of a kernel with three arrays, of the library, and of numpy.

    Args:
        bursts: how many bursts of calls are timed; the fastest one counts.
    """
    times = []
    for name, call in calls(machine).items():
        progress(name)
        call()
        fastest = min(repeat(call, number=_BURST, repeat=bursts)) / _BURST
        times.append(CallTime(name, 1e9 * fastest, bursts))
    return tuple(times)


def calls(machine: Machine | None = None) -> dict[str, Callable[[], Any]]:
    """The calls to time, by name."""
    add, parallel = sum_kernel(machine), sum_kernel(machine, is_parallel=True)
    x, y, out = (np.ones(SIZE, np.float32) for _ in range(3))
    constant = x.copy()
    constant.flags.writeable = False
    a, b, product = (np.ones((SIZE, SIZE), np.float32) for _ in range(3))
    return {
        "kernel(x, y, out)": lambda: add(x, y, out),
        "kernel(x=x, y=y, out=out)": lambda: add(x=x, y=y, out=out),
        "kernel(x, y), output allocated": lambda: add(x, y),
        "kernel(x, y, out), x read-only": lambda: add(constant, y, out),
        "call(), bound": add.bind(x, y, out),
        "parallel kernel(x, y, out)": lambda: parallel(x, y, out),
        "parallel kernel(x, y, out, threads=1)": lambda: parallel(x, y, out, threads=1),
        "call(), bound with threads=1": parallel.bind(x, y, out, threads=1),
        "numpy.add(x, y, out)": lambda: np.add(x, y, out),
        f"matmul(a, b, out), {SIZE} x {SIZE}": lambda: matmul(a, b, product, specialize=True),
        f"numpy.matmul(a, b, out), {SIZE} x {SIZE}": lambda: np.matmul(a, b, product),
        f"transpose(a, None, out), {SIZE} x {SIZE}": lambda: transpose(a, None, product),
        f"numpy.copyto(out, a.T), {SIZE} x {SIZE}": lambda: np.copyto(product, a.T),
    }


def sum_kernel(machine: Machine | None = None, *, is_parallel: bool = False) -> CompiledKernel:
    """``out[i] = x[i] + y[i]`` for arrays of any length."""
    build = KernelBuilder("add")
    n = build.parameter("n")
    x, y = build.input("x", "f32", [n]), build.input("y", "f32", [n])
    out = build.output("out", "f32", [n])
    with build.loops(i=n) as i:
        out[i] = x[i] + y[i]
    schedule = Schedule(build.kernel())
    return compile(schedule.parallel("i") if is_parallel else schedule, machine)
