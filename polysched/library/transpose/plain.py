"""Copies that change no element's place: whole vectors, several at a time."""

from __future__ import annotations

from polysched.ir.builder import KernelBuilder
from polysched.ir.dtypes import DType
from polysched.ir.kernel import Kernel
from polysched.user import Schedule

VECTORS = 4
"""Vectors of an iteration."""


def copy_kernel(dtype: DType) -> Kernel:
    """The kernel ``y = x`` for arrays of one dimension; the parameter ``e0`` is its extent."""
    build = KernelBuilder("copy")
    extent = build.parameter("e0", minimum=0)
    x, y = build.input("x", dtype, [extent]), build.output("y", dtype, [extent])
    with build.loops(index=extent) as index, build.statement("elements"):
        y[index] = x[index]
    return build.kernel()


def copy_schedule(kernel: Kernel, lanes: int) -> Schedule:
    """Schedule a kernel of :func:`copy_kernel` for vectors of so many lanes."""
    schedule = Schedule(kernel).split("index", VECTORS * lanes, into=("run", "of_run"))
    schedule = schedule.split("of_run", lanes, into=("vector", "lane"))
    return schedule.vectorize("lane", lanes).unroll("vector")
