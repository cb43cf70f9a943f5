"""Identity copy of contiguous arrays, in several vectors per iteration."""

from __future__ import annotations

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType
from polysched.user import Schedule

VECTORS = 4
"""Vectors per iteration."""


def copy_kernel(dtype: DType) -> Kernel:
    """Declare ``y = x`` for arrays of one dimension; the parameter ``e0`` is its extent."""
    build = KernelBuilder("copy")
    extent = build.parameter("e0", minimum=0)
    x, y = build.input("x", dtype, [extent]), build.output("y", dtype, [extent])
    with build.loops(index=extent) as index, build.statement("elements"):
        y[index] = x[index]
    return build.kernel()


def copy_schedule(kernel: Kernel, lanes: int) -> Schedule:
    """Schedule a kernel of :func:`copy_kernel` in vectors of ``lanes``."""
    schedule = Schedule(kernel).split("index", VECTORS * lanes, into=("run", "of_run"))
    schedule = schedule.split("of_run", lanes, into=("vector", "lane"))
    return schedule.vectorize("lane", lanes).unroll("vector")
