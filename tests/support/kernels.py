"""Small kernels to be scheduled by the tests.

A size is a number (loops of literal extent) or None (a parameter of that name). ``triangular``
makes an inner loop end at an outer one's index. Each kernel is declared once.
"""

from __future__ import annotations

from functools import cache

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, i32
from polysched.ir.expr.expressions import Expression, Index, Operand, as_expression
from polysched.ir.expr.functions import cast, equal, maximum, not_equal

Size = int | None


@cache
def extent(build: KernelBuilder, name: str, given: Size, minimum: int = 0) -> Expression:
    """The number given, or a parameter."""
    return build.parameter(name, minimum=minimum) if given is None else as_expression(given)


def _up_to(index: str, size: Operand, triangular: bool) -> Operand:
    return Index(index) + 1 if triangular else size


def scale(n: Size = None, dtype: DType = i32) -> Kernel:
    """``y[i] = 2 * x[i] + 1``."""
    build = KernelBuilder("scale")
    size = extent(build, "n", n)
    x, y = build.input("x", dtype, (size,)), build.output("y", dtype, (size,))
    with build.loops(i=size) as i, build.statement("S"):
        y[i] = 2 * x[i] + 1
    return build.kernel()


@cache
def grid(n: Size = None, m: Size = None, *, triangular: bool = False, dtype: DType = i32) -> Kernel:
    """``y[i, j] = x[i, j] + 10 * i + j``: two loops, indices as data. A triangle has ``m = n``."""
    build = KernelBuilder("grid")
    rows = extent(build, "n", n)
    columns = rows if triangular else extent(build, "m", m)
    x = build.input("x", dtype, (rows, columns))
    y = build.output("y", dtype, (rows, columns))
    with (
        build.loops(i=rows, j=_up_to("i", columns, triangular)) as (i, j),
        build.statement("S"),
    ):
        y[i, j] = x[i, j] + cast(10 * i + j, dtype)
    return build.kernel()


@cache
def chain(
    n: Size = None, m: Size = None, *, triangular: bool = False, dtype: DType = i32
) -> Kernel:
    """``P: t = 2 * a + 1``, then ``C: c = t * t - a``, element by element over ``n x m``."""
    build = KernelBuilder("chain")
    rows = extent(build, "n", n)
    columns = rows if triangular else extent(build, "m", m)
    a = build.input("a", dtype, (rows, columns))
    t = build.temporary("t", dtype, (rows, columns))
    c = build.output("c", dtype, (rows, columns))
    with (
        build.loops(i=rows, j=_up_to("i", columns, triangular)) as (i, j),
        build.statement("P"),
    ):
        t[i, j] = 2 * a[i, j] + 1
    with (
        build.loops(i=rows, j=_up_to("i", columns, triangular)) as (i, j),
        build.statement("C"),
    ):
        c[i, j] = t[i, j] * t[i, j] - a[i, j]
    return build.kernel()


@cache
def matmul(
    m: Size = None,
    n: Size = None,
    k: Size = None,
    *,
    triangular: bool = False,
    dtype: DType = i32,
    order: str = "any",
) -> Kernel:
    """``init: c = 0``, ``update: c[i, j] += a[i, l] * b[l, j]``; triangular: ``l <= i``."""
    build = KernelBuilder("matmul")
    rows, columns = extent(build, "m", m), extent(build, "n", n)
    depth = rows if triangular else extent(build, "k", k)
    a = build.input("a", dtype, (rows, depth))
    b = build.input("b", dtype, (depth, columns))
    c = build.output("c", dtype, (rows, columns))
    with build.loops(i=rows, j=columns) as (i, j), build.statement("init"):
        c[i, j] = 0
    with (
        build.loops(i=rows, j=columns, l=_up_to("i", depth, triangular)) as (i, j, depth_index),
        build.statement("update", order=order),
    ):
        c[i, j] += a[i, depth_index] * b[depth_index, j]
    return build.kernel()


@cache
def triangular_solve(n: Size = None, dtype: DType = i32) -> Kernel:
    """``x = L^-1 b`` by forward substitution, L with a unit diagonal."""
    build = KernelBuilder("triangular_solve")
    size = extent(build, "n", n)
    lower, b = build.input("L", dtype, (size, size)), build.input("b", dtype, (size,))
    x = build.output("x", dtype, (size,))
    with build.loops(i=size) as i:
        with build.statement("init"):
            x[i] = b[i]
        with build.loops(j=i) as j, build.statement("eliminate"):
            x[i] = x[i] - lower[i, j] * x[j]
    return build.kernel()


@cache
def prefix(n: Size = None, dtype: DType = i32) -> Kernel:
    """``s[i] = s[i - 1] + a[i]``, starting with ``s[0] = a[0]``."""
    build = KernelBuilder("prefix")
    size = extent(build, "n", n, minimum=1)
    a, s = build.input("a", dtype, (size,)), build.output("s", dtype, (size,))
    with build.statement("first"):
        s[0] = a[0]
    with build.loops(i=(1, size)) as i, build.statement("S"):
        s[i] = s[i - 1] + a[i]
    return build.kernel()


@cache
def seidel(t: Size = None, n: Size = None, dtype: DType = i32) -> Kernel:
    """Sweeps of a three-point stencil in place."""
    build = KernelBuilder("seidel")
    steps, size = extent(build, "t", t), extent(build, "n", n, minimum=1)
    a = build.inout("a", dtype, (size,))
    with build.loops(s=steps, i=(1, size - 1)) as (_, i), build.statement("S"):
        a[i] = a[i - 1] + 2 * a[i] - a[i + 1]
    return build.kernel()


@cache
def seidel_plane(t: Size = None, n: Size = None, m: Size = None, dtype: DType = i32) -> Kernel:
    """Sweeps of a five-point stencil in place over ``n x m``."""
    build = KernelBuilder("seidel_plane")
    steps = extent(build, "t", t)
    rows, columns = extent(build, "n", n, minimum=1), extent(build, "m", m, minimum=1)
    a = build.inout("a", dtype, (rows, columns))
    with (
        build.loops(s=steps, i=(1, rows - 1), j=(1, columns - 1)) as (_, i, j),
        build.statement("S"),
    ):
        a[i, j] = a[i - 1, j] + a[i, j - 1] + a[i, j] - a[i, j + 1] - a[i + 1, j]
    return build.kernel()


@cache
def jacobi(t: Size = None, n: Size = None, dtype: DType = i32) -> Kernel:
    """Sweeps of a three-point stencil from ``a`` to ``b`` and back."""
    build = KernelBuilder("jacobi")
    steps, size = extent(build, "t", t), extent(build, "n", n, minimum=1)
    a, b = build.inout("a", dtype, (size,)), build.inout("b", dtype, (size,))
    with build.loops(s=steps):
        with build.loops(i=(1, size - 1)) as i, build.statement("there"):
            b[i] = a[i - 1] + 2 * a[i] - a[i + 1]
        with build.loops(i=(1, size - 1)) as i, build.statement("back"):
            a[i] = b[i - 1] - b[i] + b[i + 1]
    return build.kernel()


@cache
def blur(n: Size = None, m: Size = None, dtype: DType = i32) -> Kernel:
    """``P: t = a[i, j] + a[i, j + 1]``, then ``C`` from three rows of ``t``."""
    build = KernelBuilder("blur")
    rows, columns = extent(build, "n", n, minimum=1), extent(build, "m", m)
    a = build.input("a", dtype, (rows + 2, columns + 1))
    t = build.temporary("t", dtype, (rows + 2, columns))
    c = build.output("c", dtype, (rows, columns))
    with build.loops(i=rows + 2, j=columns) as (i, j), build.statement("P"):
        t[i, j] = a[i, j] + a[i, j + 1]
    with build.loops(i=rows, j=columns) as (i, j), build.statement("C"):
        c[i, j] = t[i, j] + 2 * t[i + 1, j] + t[i + 2, j]
    return build.kernel()


@cache
def transpose(n: Size = None, m: Size = None, dtype: DType = i32) -> Kernel:
    """``y[j, i] = x[i, j]``."""
    build = KernelBuilder("transpose")
    rows, columns = extent(build, "n", n), extent(build, "m", m)
    x = build.input("x", dtype, (rows, columns))
    y = build.output("y", dtype, (columns, rows))
    with build.loops(i=rows, j=columns) as (i, j), build.statement("S"):
        y[j, i] = x[i, j]
    return build.kernel()


@cache
def shuffle(n: Size = None, dtype: DType = i32) -> Kernel:
    """Accesses that are strided, reversed, shared, repeated (``i % 5``), stretched (``i // 3``)."""
    build = KernelBuilder("shuffle")
    size = extent(build, "n", n, minimum=1)
    x = build.input("x", dtype, (3 * size + 2,))
    table = build.input("table", dtype, (5,))
    y = build.output("y", dtype, (2 * size,))
    z = build.output("z", dtype, (size,))
    with build.loops(i=size) as i, build.statement("strided"):
        y[2 * i] = x[3 * i + 1] + table[i % 5]
    with build.loops(i=size) as i, build.statement("reversed"):
        z[size - 1 - i] = x[size - i] + x[i // 3] - table[2]
    return build.kernel()


@cache
def reductions(n: Size = None, m: Size = None, dtype: DType = i32) -> Kernel:
    """Row sums, and the largest element of each row, one declared after the other."""
    build = KernelBuilder("reductions")
    rows, columns = extent(build, "n", n), extent(build, "m", m)
    x = build.input("x", dtype, (rows, columns))
    total, largest = build.output("total", dtype, (rows,)), build.inout("largest", dtype, (rows,))
    with build.loops(i=rows) as i:
        with build.statement("zero"):
            total[i] = 0
        with build.loops(j=columns) as j:
            with build.statement("add", order="any"):
                total[i] += x[i, j]
            with build.statement("compare", order="any"):
                largest[i] = maximum(largest[i], x[i, j])
    return build.kernel()


@cache
def conditions(n: Size = None, dtype: DType = i32) -> Kernel:
    """Statements under affine conditions, in a band around the diagonal and off it."""
    build = KernelBuilder("conditions")
    size = extent(build, "n", n)
    y = build.inout("y", dtype, (size, size))
    with build.loops(i=size, j=size) as (i, j):
        with build.where((j - i <= 2) & (i - j <= 1)), build.statement("band"):
            y[i, j] = y[i, j] + 5
        with build.where(not_equal(i, j)), build.statement("off"):
            y[i, j] = 2 * y[i, j]
        with build.where(equal((i + j) % 3, 0)), build.statement("third"):
            y[i, j] = y[i, j] - cast(j, dtype)
    return build.kernel()


@cache
def stepped(n: Size = None, dtype: DType = i32) -> Kernel:
    """Loops of step 3 from 1 on and of step 2, the inner one beginning at the outer one's index."""
    build = KernelBuilder("stepped")
    size = extent(build, "n", n)
    x, y = build.input("x", dtype, (size,)), build.inout("y", dtype, (size, size))
    with build.loops(i=(1, size, 3), j=(Index("i"), size, 2)) as (i, j), build.statement("S"):
        y[i, j] = x[j] + y[i, j]
    return build.kernel()


@cache
def scalars(n: Size = None, dtype: DType = i32) -> Kernel:
    """Arrays of no dimension: a sum, and what follows from it."""
    build = KernelBuilder("scalars")
    size = extent(build, "n", n)
    x, factor = build.input("x", dtype, (size,)), build.input("factor", dtype, ())
    total, double = build.temporary("total", dtype, ()), build.output("double", dtype, ())
    with build.statement("zero"):
        total[()] = 0
    with build.loops(i=size) as i, build.statement("add", order="any"):
        total[()] += factor[()] * x[i]
    with build.statement("result"):
        double[()] = 2 * total[()]
    return build.kernel()
