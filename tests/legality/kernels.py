"""Small kernels that the tests of legality schedule."""

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32, i32
from polysched.schedule.schedule import Schedule


def copy_shifted(row: int, column: int) -> Kernel:
    """``A[i, j] = A[i - row, j - column] + 1`` for rows and columns from 2 on."""
    build = KernelBuilder("copy_shifted")
    n, m = build.parameter("N", minimum=4), build.parameter("M", minimum=4)
    a = build.inout("A", i32, (n, m))
    with build.loops(i=(2, n - 1), j=(2, m - 1)) as (i, j), build.statement("S"):
        a[i, j] = a[i - row, j - column] + 1
    return build.kernel()


def seidel() -> Kernel:
    """Gauss-Seidel sweeps in one dimension, in place."""
    build = KernelBuilder("seidel")
    t, n = build.parameter("T", minimum=1), build.parameter("N", minimum=3)
    a = build.inout("A", f32, (n,))
    with build.loops(t=t, i=(1, n - 1)) as (_, i), build.statement("S"):
        a[i] = a[i - 1] + a[i] + a[i + 1]
    return build.kernel()


def matmul(order: str = "exact") -> Kernel:
    """``C = A @ B`` with an initialization of its own."""
    build = KernelBuilder("matmul")
    n = build.parameter("N", minimum=1)
    a, b = build.input("A", f32, (n, n)), build.input("B", f32, (n, n))
    c = build.output("C", f32, (n, n))
    with build.loops(i=n, j=n) as (i, j), build.statement("init"):
        c[i, j] = 0.0
    with build.loops(i=n, j=n, k=n) as (i, j, k), build.statement("update", order=order):
        c[i, j] += a[i, k] * b[k, j]
    return build.kernel()


def triangular_solve() -> Kernel:
    """``x = L^-1 b`` by forward substitution, L with a unit diagonal."""
    build = KernelBuilder("triangular_solve")
    n = build.parameter("N", minimum=1)
    lower, b = build.input("L", f32, (n, n)), build.input("b", f32, (n,))
    x = build.output("x", f32, (n,))
    with build.loops(i=n) as i:
        with build.statement("init"):
            x[i] = b[i]
        with build.loops(j=i) as j, build.statement("eliminate"):
            x[i] = x[i] - lower[i, j] * x[j]
    return build.kernel()


def producer_consumer(offset: int = 0) -> Kernel:
    """``P: t[i] = 2 * a[i]``, then ``C: c[i] = t[i] + t[i + offset]``."""
    build = KernelBuilder("producer_consumer")
    n = build.parameter("N", minimum=2)
    a = build.input("a", i32, (n + 2,))
    t, c = build.temporary("t", i32, (n + 2,)), build.output("c", i32, (n,))
    with build.loops(i=n + 2) as i, build.statement("P"):
        t[i] = 2 * a[i]
    with build.loops(i=n) as i, build.statement("C"):
        c[i] = t[i] + t[i + offset]
    return build.kernel()


def windows() -> Kernel:
    """``S: t[i, k] = 3``, then ``T: o[i, k] = t[i, k // 2]``, both in one loop over k."""
    build = KernelBuilder("windows")
    n = build.parameter("N", minimum=2)
    t, o = build.temporary("t", i32, (n, 8)), build.output("o", i32, (n, 8))
    with build.loops(i=n, k=8) as (i, k):
        with build.statement("S"):
            t[i, k] = 3
        with build.statement("T"):
            o[i, k] = t[i, k // 2]
    return build.kernel()


def overlapping_sums() -> Kernel:
    """``S: y[i + k] += x[i, k]`` in any order: neighbors add to one element."""
    build = KernelBuilder("overlapping")
    n = build.parameter("n")
    x, y = build.input("x", i32, (n, 2)), build.inout("y", i32, (n + 1,))
    with build.loops(i=n, k=2) as (i, k), build.statement("S", order="any"):
        y[i + k] += x[i, k]
    return build.kernel()


def interrupted_sums() -> Schedule:
    """Tiles of :func:`overlapping_sums` that take turns in their buffer, but not in ``y``.

    Each element is copied out one step after it has been copied in: after the next tile has read
    the same element of ``y``, and just before that tile needs its place in the buffer.
    """
    schedule = Schedule(overlapping_sums()).promote("y", "i").distribute("i")
    for statement, inner in (("y_local_in", "d0"), ("S", "k"), ("y_local_out", "d0")):
        schedule = schedule.collapse(f"{statement}.i", f"{statement}.{inner}", "t")
    schedule = schedule.fuse("y_local_in.t", "S.t").shift("y_local_out.t", 1)
    return schedule.fuse("y_local_in.t", "y_local_out.t")
