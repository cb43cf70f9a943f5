"""Kernels of products of rows rounded to 8 bits and matrices of integer codes with scales.

``out[r, c] = scale of row r * the sum over groups g of (scale[g, c] * sum of codes * rounded terms
+ offset[g, c] * sum of the rounded terms)``. The sums of a group are 32-bit integers, which
dot-product instructions add; the sum over groups is float32. The rows are rounded by a kernel of
their own: its result serves all columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32, i8, i32, u8
from polysched.ir.expr.functions import absolute, cast, maximum, select
from polysched.library.matmul.kernel.epilogue import ACTIVATIONS

TERMS = 4
"""Terms that one instruction multiplies and adds to a 32-bit lane."""

LARGEST = 127
"""The largest absolute value of a rounded term."""

SMALLEST = 2.0**-126
"""The smallest scale of a row of rounded terms."""

_rounded: Any = np.rint
"""numpy's annotations do not know the expressions of a kernel."""


@dataclass(frozen=True)
class LinearForm:
    """The properties of a product that its code depends on; the extents are parameters.

    Attributes:
        steps: groups of :data:`TERMS` terms that share a scale.
        columns: columns of a panel of codes.
        lanes: columns of a vector.
        rows: rows of a register tile; the number of rows is a multiple.
        is_packed: whether the codes have 4 bits, two in a byte: the low ones are those of the first
            half of the columns, the high ones those of the second half.
        is_single: whether there is one tile of rows. Packed codes are then unpacked in registers,
            otherwise into a buffer that all tiles read.
        bias: whether a bias is added.
        activation: a name of :data:`polysched.library.matmul.kernel.epilogue.ACTIVATIONS`, or None.
    """

    steps: int
    columns: int
    lanes: int
    rows: int
    is_packed: bool
    is_single: bool
    bias: bool = False
    activation: str | None = None

    @property
    def name(self) -> str:
        """The name of the kernel."""
        return f"dynamic_linear_{4 if self.is_packed else 8}_bits"


def linear_kernel(form: LinearForm) -> Kernel:
    """Declare the product of rounded rows and codes.

    Arrays: ``x[rows, groups, steps, 4]`` of i8, ``x_sums[rows, groups]`` and ``x_scale[rows]`` of
    f32, ``codes[panels, groups, steps, columns * 4]`` of u8, or half as many if they are packed,
    ``scale`` and ``offset[panels, groups, columns]`` of f32, ``bias[panels, columns]`` if there is
    one, and ``out[rows, panels, columns]`` of f32. Parameters: ``panels``, ``tiles`` (of
    ``form.rows`` rows) and ``groups``.
    """
    build = KernelBuilder(form.name)
    panels, tiles, groups = (
        build.parameter(name, minimum=1) for name in ("panels", "tiles", "groups")
    )
    rows, steps, columns = tiles * form.rows, form.steps, form.columns
    x = build.input("x", i8, (rows, groups, steps, TERMS), dimensions="row group step term")
    x_sums = build.input("x_sums", f32, (rows, groups), dimensions="row group")
    x_scale = build.input("x_scale", f32, (rows,), dimensions="row")
    width = columns * TERMS // (2 if form.is_packed else 1)
    names = "panel group step byte"
    codes = build.input("codes", u8, (panels, groups, steps, width), dimensions=names)
    scale, offset = (
        build.input(name, f32, (panels, groups, columns), dimensions="panel group column")
        for name in ("scale", "offset")
    )
    bias = None
    if form.bias:
        bias = build.input("bias", f32, (panels, columns), dimensions="panel column")
    out = build.output("out", f32, (rows, panels, columns), dimensions="row panel column")
    sums = build.temporary("sums", f32, out.array.shape, dimensions="row panel column")
    parts = build.temporary(
        "parts", i32, (panels, rows, groups, columns), dimensions="panel row group column"
    )
    bytes_ = codes
    if form.is_packed:
        shape = panels, groups, steps, 2 * width
        bytes_ = build.temporary("bytes", u8, shape, dimensions=names)
    with build.loops(panel=panels) as panel:
        with build.loops(row=rows, column=columns) as (row, column), build.statement("no_sum"):
            sums[row, panel, column] = 0
        with build.loops(group=groups) as group:
            if form.is_packed:
                with build.loops(step=steps, byte=width) as (step, byte):
                    pair = codes[panel, group, step, byte]
                    with build.statement("unpack_low"):
                        bytes_[panel, group, step, byte] = pair & 15
                    with build.statement("unpack_high"):
                        bytes_[panel, group, step, byte + width] = pair >> 4
            with build.loops(row=rows) as row:
                with build.loops(column=columns) as column, build.statement("no_part"):
                    parts[panel, row, group, column] = 0
                with (
                    build.loops(step=steps, column=columns, term=TERMS) as (step, column, term),
                    build.statement("update"),
                ):
                    byte = bytes_[panel, group, step, TERMS * column + term]
                    product = cast(x[row, group, step, term], i32) * cast(byte, i32)
                    parts[panel, row, group, column] += product
                with build.loops(column=columns) as column, build.statement("add_group"):
                    sums[row, panel, column] += (
                        scale[panel, group, column] * cast(parts[panel, row, group, column], f32)
                        + offset[panel, group, column] * x_sums[row, group]
                    )
        with build.loops(row=rows, column=columns) as (row, column), build.statement("finish"):
            value = sums[row, panel, column] * x_scale[row]
            value = value if bias is None else value + bias[panel, column]
            activate = ACTIVATIONS[form.activation] if form.activation else None
            out[row, panel, column] = value if activate is None else activate(value)
    return build.kernel()


def rounding_kernel(group: int) -> Kernel:
    """Declare the rounding of rows to 8 bits, whose elements are added in groups.

    Arrays: ``x[rows, columns]`` of f32; ``rounded``, the same of i8; ``sums[rows, groups]`` of f32,
    the sums of ``group`` rounded elements each; and ``scale[rows]`` of f32. Parameters: ``rows``
    and ``groups``. Row ``r`` is about ``rounded[r] * scale[r]``, where the element with the largest
    absolute value becomes 127 or -127. If a row contains NaN or infinity, its scale is NaN.
    """
    build = KernelBuilder("round_rows")
    rows, groups = (build.parameter(name, minimum=1) for name in ("rows", "groups"))
    shape = rows, group * groups
    x = build.input("x", f32, shape, dimensions="row column")
    rounded = build.output("rounded", i8, shape, dimensions="row column")
    sums = build.output("sums", f32, (rows, groups), dimensions="row group")
    scale = build.output("scale", f32, (rows,), dimensions="row")
    largest, factor = (
        build.temporary(name, f32, (rows,), dimensions="at") for name in ("largest", "factor")
    )
    totals = build.temporary("totals", i32, (rows, groups), dimensions="at of")
    with build.loops(row=rows) as row:
        with build.statement("no_largest"):
            largest[row] = 0
        with build.loops(column=group * groups) as column, build.statement("largest", order="any"):
            largest[row] = maximum(largest[row], absolute(x[row, column]))
        with build.statement("scale"):
            # The difference is NaN for infinity, else 0.
            scale[row] = largest[row] / LARGEST + (largest[row] - largest[row])
        with build.statement("factor"):
            # A smaller scale has no finite inverse: the row becomes 0.
            factor[row] = select(scale[row] > SMALLEST, 1 / scale[row], 0)
        with build.loops(group=groups) as at:
            with build.loops(term=group) as term, build.statement("round"):
                column = group * at + term
                rounded[row, column] = cast(_rounded(x[row, column] * factor[row]), i8)
            with build.statement("no_total"):
                totals[row, at] = 0
            with build.loops(term=group) as term, build.statement("total", order="any"):
                totals[row, at] += cast(rounded[row, group * at + term], i32)
            with build.statement("sum"):
                sums[row, at] = cast(totals[row, at], f32)
    return build.kernel()
