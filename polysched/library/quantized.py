"""Quantized matrix-vector product: sub-byte integers with a scale and a zero point per group.

``y[i] = sum over t of scale[i, t // group] * (codes[i, t] - zero[i, t // group]) * x[t]``, the
product of quantized language models. The codes are packed: a row of 4096 weights of 4 bits takes
2 KiB. They are read once, as bytes, and converted in registers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polysched.errors import KernelError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, as_dtype, f32, u8
from polysched.ir.expr.expressions import Index
from polysched.ir.expr.functions import cast
from polysched.library.axes import along, declare_reduction, size_of
from polysched.library.extents import require_sizes
from polysched.machine.description import Machine
from polysched.machine.load import as_machine

if TYPE_CHECKING:
    from polysched.user import Schedule


def quantized_gemv_kernel(
    rows: int, columns: int, *, group: int = 128, dtype: DType | str = "u4"
) -> Kernel:
    """Declare the product; sums have any order.

    Arrays: ``codes[rows, columns]`` of ``dtype``, packed with padded rows; ``scale`` of float32 and
    ``zero`` of uint8, ``[rows, ceil(columns / group)]``; ``x[columns]`` and ``y[rows]`` of float32.
    The statements are ``init`` and ``update``.

    Args:
        rows: rows of the matrix: the number of results.
        columns: columns of the matrix: the terms of each result.
        group: terms that share a scale and a zero; a power of two of at least the vectors' length
            is fastest.
        dtype: the type of the codes, an integer type that is packed.

    Raises:
        KernelError: a size is negative, a group has no terms, or the codes' type is not packed.
    """
    require_sizes("quantized gemv", rows=rows, columns=columns)
    require_sizes("quantized gemv", least=1, group=group)
    element = as_dtype(dtype)
    if not element.is_odd_width:
        raise KernelError(
            f"quantized gemv: codes of {element} are not packed; expected an integer type of 1 to "
            "7 or 9 to 31 bits"
        )
    build = KernelBuilder("quantized_gemv")
    groups = -(-columns // group)
    codes = build.input("codes", element, (rows, columns), rows="padded", dimensions="result term")
    scale = build.input("scale", f32, (rows, groups))
    zero = build.input("zero", u8, (rows, groups))
    x = build.input("x", f32, (columns,))
    y = build.output("y", f32, (rows,), dimensions="at")

    def start(result: Index) -> None:
        y[result] = 0

    def update(result: Index, term: Index) -> None:
        own = term // group
        offset = cast(codes[result, term], f32) - cast(zero[result, own], f32)
        y[result] += scale[result, own] * offset * x[term]

    declare_reduction(build, rows, columns, start, update, along_rows=True)
    return build.kernel()


def quantized_gemv_schedule(
    kernel: Kernel, machine: Machine | str | None = None, threads: int = 1
) -> Schedule:
    """Schedule a kernel of :func:`quantized_gemv_kernel`: a row at a time, its terms in vectors.

    Arguments and errors are those of :func:`polysched.library.reduce.reduce_schedule`.
    """
    size = size_of(
        kernel, "codes", "quantized_gemv_kernel", as_machine(machine), threads, bits=f32.bits
    )
    return along(kernel, "codes", size)
