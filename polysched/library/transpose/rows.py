"""Copies that move whole rows: the identity, and permutations that keep the last dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polysched.errors import KernelError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType
from polysched.library.on_demand import unscheduled

if TYPE_CHECKING:
    from polysched.user import Schedule


def rows_kernel(order: Sequence[int], dtype: DType) -> Kernel:
    """Declare ``y = x`` with permuted dimensions; the parameters are the extents of ``x``.

    Arrays, row-major: ``x[e0, e1, ...]`` and ``y[e{order[0]}, e{order[1]}, ...]``. The statement
    ``rows`` stands in the loops ``d<axis>`` in the order of y.

    Args:
        order: the dimension of ``x`` for each dimension of ``y``; it keeps the last dimension.
    """
    rank = len(order)
    if rank < 2 or sorted(order) != list(range(rank)) or order[-1] != rank - 1:
        raise KernelError(
            f"transpose of rows: order={tuple(order)}; expected an order of two dimensions or "
            "more in which the last one stays the last"
        )
    build = KernelBuilder("transpose_rows_" + "".join(map(str, order)))
    extents = [build.parameter(f"e{axis}", minimum=0) for axis in range(rank)]
    x = build.input("x", dtype, extents)
    y = build.output("y", dtype, [extents[axis] for axis in order])
    loops = build.loops(**{f"d{axis}": extents[axis] for axis in order})
    with loops as indices, build.statement("rows"):
        y[tuple(indices)] = x[tuple(indices[order.index(axis)] for axis in range(rank))]
    return build.kernel()


BLOCK = 32
"""Contiguous source rows that are read together when the arrays exceed the L2 cache."""


def rows_schedule(
    kernel: Kernel, lanes: int, *, is_far: bool = False, is_shared: bool = False
) -> Schedule:
    """Schedule a kernel of :func:`rows_kernel`.

    Rows are written in the order of ``y``. If the arrays exceed the L2 cache, neighboring rows are
    read in blocks, so that cache lines shared by two rows, and pages, are read once.

    Args:
        is_far: whether the arrays exceed the L2 cache.
        is_shared: whether threads share the first dimension of the result.
    """
    *outer, last = kernel.statements["rows"].indices
    schedule = unscheduled(kernel)
    if is_far:
        near = f"d{len(outer) - 1}"
        schedule = schedule.split(near, BLOCK, into=("block", "of_block"))
        outer[outer.index(near)] = "block"
        schedule = schedule.reorder(*outer, "of_block", last)
    schedule = schedule.vectorize(last, lanes)
    return schedule.parallel(outer[0]) if is_shared else schedule


VECTORS = 4
"""Vectors in an iteration of the identity copy."""


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
    schedule = unscheduled(kernel).split("index", VECTORS * lanes, into=("run", "of_run"))
    schedule = schedule.split("of_run", lanes, into=("vector", "lane"))
    return schedule.vectorize("lane", lanes).unroll("vector")
