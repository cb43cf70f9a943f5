"""Softmax of the rows of a matrix, in three passes over a row that stays in the cache.

The largest element of a row is subtracted first, so that no exponential overflows. The sum is
computed together with the exponentials, which are then multiplied by its reciprocal.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from polysched.errors import KernelError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, as_dtype, f32
from polysched.ir.expr.expressions import Expression, operation
from polysched.ir.expr.functions import exp
from polysched.ir.expr.operators import Operator
from polysched.library.axes import Size, size_of
from polysched.library.extents import require_sizes
from polysched.library.folding import folded_together, in_vectors, vectors_for
from polysched.library.on_demand import unscheduled
from polysched.library.register_transpose import rows_as_lanes, transposed_in_registers
from polysched.machine.description import Machine
from polysched.machine.load import as_machine

if TYPE_CHECKING:
    from polysched.user import Schedule

_TILED = 16
"""Vectors of a row up to which a tile of ``lanes`` rows fits the L1 cache twice."""

_TEMPORARIES = ("largest", "total", "factor")

_REGISTERS_OF_POWER = 16
"""Vector registers of one exponential, most of them for its constants."""


def softmax_kernel(rows: int, columns: int, *, dtype: DType | str = f32) -> Kernel:
    """Declare ``out[row, column] = exp(x[row, column]) / sum over k of exp(x[row, k])``.

    Arrays, C-contiguous: ``x[rows, columns]`` and ``out[rows, columns]``. Sums have any order. A
    row that contains NaN or infinity, or only -infinity, becomes NaN.

    Args:
        rows: the number of rows; each is normalized separately.
        columns: elements of a row.
        dtype: the element type of both arrays, f32 or f64.

    Raises:
        KernelError: a size is negative, or the type has no exponential function.
    """
    require_sizes("softmax", rows=rows, columns=columns)
    dtype = as_dtype(dtype)
    if not dtype.is_float:
        raise KernelError(f"softmax: elements of type {dtype}; expected f32 or f64")
    build = KernelBuilder("softmax")
    declare_softmax(build, dtype, rows, columns)
    return build.kernel()


def declare_softmax(
    build: KernelBuilder,
    dtype: DType,
    rows: int | Expression,
    columns: int | Expression,
    first: int | Expression | None = None,
) -> None:
    """Declare the arrays and statements of a softmax of each row, for sizes of either kind.

    If ``first`` is given, the exponentials are written to a temporary ``powers``, so that ``out``
    is written once. The loop that writes it counts from ``first``.
    """
    x = build.input("x", dtype, (rows, columns), dimensions="row column")
    out = build.output("out", dtype, (rows, columns), dimensions="row column")
    largest = build.temporary("largest", dtype, (rows,), dimensions="at")
    total = build.temporary("total", dtype, (rows,), dimensions="at")
    factor = build.temporary("factor", dtype, (rows,), dimensions="at")
    powers = out
    if first is not None:
        powers = build.temporary("powers", dtype, (rows, columns), dimensions="row column")
    with build.loops(row=rows) as row:
        with build.statement("no_maximum"):
            largest[row] = -math.inf
        with build.loops(column=columns) as column, build.statement("maximum", order="any"):
            # One instruction. It skips NaN, whose exponential is NaN.
            largest[row] = operation(Operator.PSEUDO_MAXIMUM, largest[row], x[row, column])
        with build.statement("no_sum"):
            total[row] = 0
        with build.loops(column=columns) as column:
            with build.statement("power"):
                powers[row, column] = exp(x[row, column] - largest[row])
            with build.statement("sum", order="any"):
                total[row] += powers[row, column]
        with build.statement("invert"):
            factor[row] = 1 / total[row]
        start = 0 if first is None else first
        with build.loops(column=(start, start + columns)) as at, build.statement("scale"):
            out[row, at - start] = powers[row, at - start] * factor[row]


def softmax_schedule(
    kernel: Kernel, machine: Machine | str | None = None, threads: int = 1
) -> Schedule:
    """Schedule a kernel of :func:`softmax_kernel`.

    Arguments and errors are those of :func:`polysched.library.reduce.reduce_schedule`.
    """
    machine = as_machine(machine)
    size = size_of(kernel, "x", "softmax_kernel", machine, threads, dimensions="row column")
    lanes = size.lanes
    schedule = unscheduled(kernel)
    if size.is_empty:
        return schedule
    if size.block > 1 and size.terms <= _TILED * lanes:
        return _in_tiles(schedule, size, machine)
    if size.is_shared:
        schedule = schedule.parallel("row")
    for temporary in _TEMPORARIES:
        schedule = schedule.promote(temporary, at="row")
    vectors = vectors_for(size.terms, lanes)
    schedule = in_vectors(schedule, "maximum", "column", lanes, vectors)
    schedule = in_vectors(schedule, "sum", "column", lanes, _powers(size, machine))
    return schedule.vectorize("scale.column", lanes)


def _powers(size: Size, machine: Machine) -> int:
    """Exponentials computed at a time, limited by registers."""
    most = max(1, machine.vector_registers // _REGISTERS_OF_POWER)
    return min(vectors_for(size.terms, size.lanes), most)


def _in_tiles(schedule: Schedule, size: Size, machine: Machine) -> Schedule:
    """Process as many rows together as a vector has lanes; each pass runs over all these rows."""
    rows = size.block
    schedule = schedule.split("row", rows, into=("tile", "row_in"))
    for statement in ("no_maximum", "maximum", "no_sum", "sum", "invert"):
        schedule = schedule.distribute(f"{statement}.row_in", after=statement)
    if size.is_shared:
        schedule = schedule.parallel("tile")
    for temporary in _TEMPORARIES:
        schedule = schedule.promote(temporary, at="tile", lanes=rows)
    for statement in ("no_maximum", "no_sum", "invert"):
        schedule = schedule.vectorize(f"{statement}.row_in", rows)
    if size.is_short:
        return _rows_in_lanes(schedule, rows)
    vectors = vectors_for(size.terms, size.lanes)
    for statement, count in (("maximum", vectors), ("sum", _powers(size, machine))):
        schedule = folded_together(schedule, statement, "column", size.lanes, count, "row_in", rows)
    return schedule.vectorize("scale.column", size.lanes)


def _rows_in_lanes(schedule: Schedule, rows: int) -> Schedule:
    """Use rows as lanes: transpose them when they are read, and back when they are written."""
    schedule = rows_as_lanes(schedule, ("x",), "tile", rows)
    schedule = schedule.promote("out", at="tile", order=("column", "row"))
    schedule = schedule.vectorize("out_local_out.row", rows).unroll("out_local_out.column")
    schedule = transposed_in_registers(schedule, "out_local_out.rowv", "out_local_out.column")
    for statement in ("maximum", "sum", "scale"):
        schedule = schedule.reorder(f"{statement}.column", f"{statement}.row_in")
        schedule = schedule.vectorize(f"{statement}.row_in", rows)
    return schedule.unroll("maximum.column", "scale.column")
