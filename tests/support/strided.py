"""Kernels whose arguments have strides."""

from __future__ import annotations

from collections.abc import Sequence

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, f32, i32
from polysched.ir.expr.expressions import Operand

Strides = Sequence[Operand] | None


def product(dtype: DType = f32, *, accumulate: bool = False) -> Kernel:
    """``c[i, j] = sum of a[i, k] * b[k, j]``; leading dimensions lda, ldb (of columns), ldc."""
    build = KernelBuilder("product")
    m, n, terms = (build.parameter(name) for name in ("m", "n", "terms"))
    lda, ldb, ldc = (build.parameter(name) for name in ("lda", "ldb", "ldc"))
    build.assume((lda >= terms) & (ldb >= terms) & (ldc >= n))
    a = build.input("a", dtype, (m, terms), dimensions="row term", strides=(lda, 1))
    b = build.input("b", dtype, (terms, n), dimensions="term column", strides=(1, ldb))
    declare = build.inout if accumulate else build.output
    c = declare("c", dtype, (m, n), dimensions="row column", strides=(ldc, 1))
    if not accumulate:
        with build.loops(i0=m, j0=n) as (i, j), build.statement("start"):
            c[i, j] = 0
    with build.loops(i=m, j=n, k=terms) as (i, j, k), build.statement("update", order="any"):
        c[i, j] += a[i, k] * b[k, j]
    return build.kernel()


def plane(
    rows: int, columns: int, taken: Strides, made: Strides, dtype: DType = i32, reach: int = 1
) -> Kernel:
    """``y[i, j] += x[i, j] + x[i, j + reach]`` of literal sizes, ``x`` wider by ``reach``."""
    build = KernelBuilder("plane")
    x = build.input("x", dtype, (rows, columns + reach), strides=taken)
    y = build.inout("y", dtype, (rows, columns), strides=made)
    with build.loops(i=rows, j=columns) as (i, j), build.statement("S"):
        y[i, j] += x[i, j] + x[i, j + reach]
    return build.kernel()


def rows_of_sums(strides: Strides, dtype: DType = i32, n: int = 24, terms: int = 7) -> Kernel:
    """``y[i, j] += sum over k of x[k, i, j]``: accumulators that have ``strides``."""
    build = KernelBuilder("sums")
    x = build.input("x", dtype, (terms, 3, n))
    y = build.inout("y", dtype, (3, n), strides=strides)
    with build.loops(i=3, j=n, k=terms) as (i, j, k), build.statement("S", order="any"):
        y[i, j] += x[k, i, j]
    return build.kernel()
