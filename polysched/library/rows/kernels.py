"""Size-generic kernels of softmax and layer normalization: rows and columns are parameters.

Each row is read from memory once: the later passes over a row find it in the cache. Sums and maxima
are computed in several vectors, whose lanes are combined at the end of the row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.functions import sqrt
from polysched.library.folding import in_vectors
from polysched.library.on_demand import unscheduled
from polysched.library.softmax import declare_softmax
from polysched.machine.description import Machine

if TYPE_CHECKING:
    from polysched.user import Schedule

LONG_VECTORS = 4
"""Vectors of partial results of a long row; a row with fewer elements than they hold is short."""


def softmax_rows_kernel(dtype: DType, fewest: int = 1) -> Kernel:
    """Declare ``out[row, column] = exp(x[row, column]) / sum over k of exp(x[row, k])``.

    Arrays, C-contiguous: ``x[rows, columns]`` and ``out[rows, columns]``. The largest element of a
    row is subtracted first, so that no exponential overflows. A row that contains NaN or infinity,
    or only -infinity, becomes NaN.

    Args:
        dtype: the element type, f32 or f64.
        fewest: the columns of the smallest matrix.
    """
    build = KernelBuilder(f"softmax_rows_{dtype}")
    rows, columns = build.parameter("rows", minimum=1), build.parameter("columns", minimum=fewest)
    declare_softmax(build, dtype, rows, columns)
    return build.kernel()


def layer_norm_rows_kernel(dtype: DType, fewest: int = 1) -> Kernel:
    """Declare ``out = (x - mean) / sqrt(variance + eps) * weight + bias`` for each row of ``x``.

    Arrays, C-contiguous: ``x[rows, columns]``, ``weight[columns]``, ``bias[columns]``, ``eps`` and
    ``one_over_columns`` without dimensions, and ``out[rows, columns]``. The variance is the mean of
    the squared differences from the mean, computed in a second pass, so it does not cancel.

    Args:
        dtype: the element type, f32 or f64.
        fewest: the columns of the smallest matrix.
    """
    build = KernelBuilder(f"layer_norm_rows_{dtype}")
    rows, columns = build.parameter("rows", minimum=1), build.parameter("columns", minimum=fewest)
    x = build.input("x", dtype, (rows, columns), dimensions="row column")
    weight = build.input("weight", dtype, (columns,), dimensions="column")
    bias = build.input("bias", dtype, (columns,), dimensions="column")
    eps = build.input("eps", dtype, ())
    share = build.input("one_over_columns", dtype, ())
    out = build.output("out", dtype, (rows, columns), dimensions="row column")
    mean, total, squares, factor = (
        build.temporary(name, dtype, (rows,), dimensions="at")
        for name in ("mean", "total", "squares", "factor")
    )
    with build.loops(row=rows) as row:
        with build.statement("no_sum"):
            total[row] = 0
        with build.loops(column=columns) as column, build.statement("sum", order="any"):
            total[row] += x[row, column]
        with build.statement("mean"):
            mean[row] = total[row] * share[()]
        with build.statement("no_squares"):
            squares[row] = 0
        with build.loops(column=columns) as column, build.statement("squares", order="any"):
            squares[row] += (x[row, column] - mean[row]) * (x[row, column] - mean[row])
        with build.statement("factor"):
            factor[row] = 1 / sqrt(squares[row] * share[()] + eps[()])
        with build.loops(column=columns) as column, build.statement("normalize"):
            centered = (x[row, column] - mean[row]) * factor[row]
            out[row, column] = centered * weight[column] + bias[column]
    return build.kernel()


def softmax_rows_schedule(
    kernel: Kernel, machine: Machine, vectors: int, *, parallel: bool = False
) -> Schedule:
    """Schedule a kernel of :func:`softmax_rows_kernel` with ``vectors`` of partial results."""
    lanes = machine.lanes(kernel.arrays["x"].dtype.bits)
    schedule = _rows(kernel, ("largest", "total", "factor"), parallel=parallel)
    schedule = in_vectors(schedule, "maximum", "column", lanes, vectors)
    schedule = in_vectors(schedule, "sum", "column", lanes, min(vectors, 2))
    return schedule.vectorize("scale.column", lanes)


def layer_norm_rows_schedule(
    kernel: Kernel, machine: Machine, vectors: int, *, parallel: bool = False
) -> Schedule:
    """Schedule a kernel of :func:`layer_norm_rows_kernel` with ``vectors`` of partial results."""
    lanes = machine.lanes(kernel.arrays["x"].dtype.bits)
    schedule = _rows(kernel, ("mean", "total", "squares", "factor"), parallel=parallel)
    schedule = in_vectors(schedule, "sum", "column", lanes, vectors)
    schedule = in_vectors(schedule, "squares", "column", lanes, vectors)
    return schedule.vectorize("normalize.column", lanes)


def _rows(kernel: Kernel, temporaries: tuple[str, ...], *, parallel: bool) -> Schedule:
    """Run rows in parallel, with their temporaries in registers."""
    schedule = unscheduled(kernel)
    if parallel:
        schedule = schedule.parallel("row")
    for temporary in temporaries:
        schedule = schedule.promote(temporary, at="row")
    return schedule
