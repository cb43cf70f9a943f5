"""Kernels on packed arrays of odd integers."""

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, as_dtype, i32
from polysched.ir.expr.functions import absolute, cast, maximum, minimum, select


def unpack(dtype: str, wide: DType = i32, *, first: int = 0) -> Kernel:
    """``y[i] = w[i + first]``."""
    build = KernelBuilder("unpack")
    n = build.parameter("n", minimum=1)
    w = build.input("w", dtype, (n + first,))
    y = build.output("y", wide, (n,))
    with build.loops(i=n) as i:
        y[i] = cast(w[i + first], wide)
    return build.kernel()


def pack(dtype: str, wide: DType = i32, *, first: int = 0) -> Kernel:
    """``w[i + first] = x[i]``, its lowest bits; earlier elements keep their values."""
    build = KernelBuilder("pack")
    n = build.parameter("n", minimum=1)
    x = build.input("x", wide, (n,))
    w = build.inout("w", dtype, (n + first,))
    with build.loops(i=n) as i:
        w[i + first] = cast(x[i], as_dtype(dtype))
    return build.kernel()


def halves(dtype: str, rows: str) -> Kernel:
    """``v[i, j] = v[i, j] + w[j, i]`` in the arithmetic of the odd type; a transposed read."""
    build = KernelBuilder("halves")
    n, m = build.parameter("n", minimum=1), build.parameter("m", minimum=1)
    w = build.input("w", dtype, (m, n), rows=rows)
    v = build.inout("v", dtype, (n, m), rows=rows)
    with build.loops(i=n, j=m) as (i, j):
        v[i, j] = v[i, j] + w[j, i]
    return build.kernel()


def every_other(dtype: str) -> Kernel:
    """``v[2 i] = v[2 i + 1]``: neither reads nor writes are of neighbors."""
    build = KernelBuilder("every_other")
    n = build.parameter("n", minimum=1)
    v = build.inout("v", dtype, (2 * n,))
    with build.loops(i=n) as i:
        v[2 * i] = v[2 * i + 1]
    return build.kernel()


def product(dtype: str, rows: str = "padded") -> Kernel:
    """A matrix product of odd integers, summed in i32: ``c += a b``."""
    build = KernelBuilder("product")
    m, n, k = (build.parameter(name, minimum=1) for name in "mnk")
    a = build.input("a", dtype, (m, k), rows=rows, dimensions="i term")
    b = build.input("b", dtype, (k, n), rows=rows, dimensions="term j")
    c = build.inout("c", i32, (m, n), dimensions="i j")
    with build.loops(i=m, j=n, term=k) as (i, j, term), build.statement("update", order="any"):
        c[i, j] += cast(a[i, term], i32) * cast(b[term, j], i32)
    return build.kernel()


def scratch(dtype: str) -> Kernel:
    """Odd integers in a temporary, each in a container: ``t = x - 3``, ``y = t t``."""
    build = KernelBuilder("scratch")
    n = build.parameter("n", minimum=1)
    odd = as_dtype(dtype)
    x = build.input("x", i32, (n,))
    y = build.output("y", i32, (n,))
    t = build.temporary("t", odd, (n,))
    with build.loops(i=n) as i:
        t[i] = cast(x[i], odd) - 3
    with build.loops(j=n) as j:
        y[j] = cast(t[j], i32) * cast(t[j], i32)
    return build.kernel()


def sums(dtype: str, rows: str) -> Kernel:
    """``v[i, j] += w[i, k]``, for all k, in the arithmetic of the odd type."""
    build = KernelBuilder("sums")
    n, m = build.parameter("n", minimum=1), build.parameter("m", minimum=1)
    w = build.input("w", dtype, (n, 9), rows=rows)
    v = build.inout("v", dtype, (n, m), rows=rows)
    with build.loops(i=n, j=m, k=9) as (i, j, k), build.statement("S", order="any"):
        v[i, j] += w[i, k]
    return build.kernel()


def arithmetic(dtype: str) -> Kernel:
    """Every operation on odd integers, of which no step may leave their range."""
    build = KernelBuilder("arithmetic")
    n = build.parameter("n", minimum=1)
    a, b = build.input("a", dtype, (n,)), build.input("b", dtype, (n,))
    c = build.output("c", dtype, (n,))
    with build.loops(i=n) as i:
        quotient, rest = a[i] // b[i], a[i] % b[i]
        larger = maximum(a[i] * b[i], absolute(a[i] - b[i]))
        c[i] = select(a[i] < b[i], quotient + rest, minimum(larger, -a[i]))
    return build.kernel()


def first_halves(dtype: str) -> Kernel:
    """``w[8 i + j] = x[i, j]`` for j from 0 to 3: the other halves stay."""
    build = KernelBuilder("first_halves")
    n = build.parameter("n", minimum=1)
    x = build.input("x", i32, (n, 4))
    w = build.inout("w", dtype, (8 * n,))
    with build.loops(i=n, j=4) as (i, j):
        w[8 * i + j] = cast(x[i, j], dtype)
    return build.kernel()
