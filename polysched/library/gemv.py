"""Matrix-vector products: each element of the matrix is used once, so it is read in place.

``y = A x``: lanes are terms of a sum, and partial results are reduced at the end of a row.
``y = A^T x``: lanes are elements of ``y``. A few rows of the matrix at a time are added to a vector
of ``y``, so that the matrix is read row by row and ``y`` is seldom loaded and stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, f32
from polysched.ir.expr.expressions import Index
from polysched.library.axes import along, declare_reduction, size_of
from polysched.library.extents import require_sizes
from polysched.machine.description import Machine
from polysched.machine.load import as_machine

if TYPE_CHECKING:
    from polysched.user import Schedule

ROWS = 4
"""Rows of ``A x`` that are computed together, to share their loads of ``x``."""


def gemv_kernel(
    rows: int, columns: int, *, transpose: bool = False, dtype: DType | str = f32
) -> Kernel:
    """Declare ``y = A x`` or ``y = A^T x``; sums have any order.

    Arrays, C-contiguous: ``a[rows, columns]``; ``x[columns]`` and ``y[rows]``, or the other way
    round if transposed. The statements are ``init`` and ``update``. An empty sum is 0.

    Args:
        rows: rows of ``a`` as it is stored.
        columns: columns of ``a`` as it is stored.
        transpose: whether to multiply by the transposed matrix.
        dtype: elements of all arrays.

    Raises:
        KernelError: a size is negative.
    """
    require_sizes("gemv", rows=rows, columns=columns)
    terms, results = (rows, columns) if transpose else (columns, rows)
    build = KernelBuilder("gemv_transposed" if transpose else "gemv")
    names = "term result" if transpose else "result term"
    a = build.input("a", dtype, (rows, columns), dimensions=names)
    x = build.input("x", dtype, (terms,))
    y = build.output("y", dtype, (results,), dimensions="at")

    def start(result: Index) -> None:
        y[result] = 0

    def update(result: Index, term: Index) -> None:
        y[result] += a[(term, result) if transpose else (result, term)] * x[term]

    declare_reduction(build, results, terms, start, update, along_rows=not transpose)
    return build.kernel()


def gemv_schedule(
    kernel: Kernel, machine: Machine | str | None = None, threads: int = 1
) -> Schedule:
    """Schedule a kernel of :func:`gemv_kernel`.

    Arguments and errors are those of :func:`polysched.library.reduce.reduce_schedule`.
    """
    size = size_of(kernel, "a", "gemv_kernel", as_machine(machine), threads)
    return along(kernel, "a", size, ROWS)
