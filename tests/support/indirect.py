"""Small kernels with subscripts that depend on data."""

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, f32, i32, i64
from polysched.ir.expr.functions import cast


def gather(index: DType = i32) -> Kernel:
    """``y[i] = 2 * x[idx[i] + 1]``."""
    build = KernelBuilder("gather")
    n, m = build.parameter("n", minimum=1), build.parameter("m", minimum=1)
    idx = build.input("idx", index, (n,), values=(0, m))
    x, y = build.input("x", f32, (m + 1,)), build.output("y", f32, (n,))
    with build.loops(i=n) as i:
        y[i] = 2 * x[idx[i] + 1]
    return build.kernel()


def histogram(order: str = "any", *, initialized: bool = True) -> Kernel:
    """``h[idx[i]] += 1``, by default after ``h[j] = 0``."""
    build = KernelBuilder("histogram")
    n, m = build.parameter("n", minimum=1), build.parameter("m", minimum=1)
    idx = build.input("idx", i32, (n,), values=(0, m))
    h = build.output("h", i32, (m,))
    if initialized:
        with build.loops(j=m) as j, build.statement("Z"):
            h[j] = 0
    with build.loops(i=n) as i, build.statement("H", order=order):
        h[idx[i]] += 1
    return build.kernel()


def sparse_product() -> Kernel:
    """A sparse matrix in ELL form, ``width`` entries a row, times a vector."""
    build = KernelBuilder("sparse_product")
    n, m = build.parameter("n", minimum=1), build.parameter("m", minimum=1)
    width = build.parameter("width", minimum=1)
    column = build.input("column", i32, (n, width), values=(0, m))
    value, x = build.input("value", f32, (n, width)), build.input("x", f32, (m,))
    y = build.output("y", f32, (n,))
    with build.loops(i=n) as i:
        with build.statement("Z"):
            y[i] = 0.0
        with build.loops(k=width) as k, build.statement("S", order="any"):
            y[i] += value[i, k] * x[column[i, k]]
    return build.kernel()


def embedding(channels: int = 24) -> Kernel:
    """The sum of the rows of a table that a list of words names."""
    build = KernelBuilder("embedding")
    n, words = build.parameter("n", minimum=1), build.parameter("words", minimum=1)
    vocabulary = build.parameter("vocabulary", minimum=1)
    word = build.input("word", i64, (n, words), values=(0, vocabulary))
    table = build.input("table", f32, (vocabulary, channels))
    y = build.output("y", f32, (n, channels), dimensions="i c")
    with build.loops(i=n, c=channels) as (i, c), build.statement("Z"):
        y[i, c] = 0.0
    with build.loops(i=n, k=words, c=channels) as (i, k, c), build.statement("S", order="any"):
        y[i, c] += table[word[i, k], c]
    return build.kernel()


def permutation() -> Kernel:
    """``y[p[i]] = x[i]``: of two writes to one element the later one stays."""
    build = KernelBuilder("permutation")
    n = build.parameter("n", minimum=1)
    p = build.input("p", i32, (n,), values=(0, n))
    x, y = build.input("x", i32, (n,)), build.inout("y", i32, (n,))
    with build.loops(i=n) as i, build.statement("P"):
        y[p[i]] = x[i]
    return build.kernel()


def scatter_in_rows() -> Kernel:
    """``y[i, p[i]] = x[i]``: no two rows share an element, whatever the data."""
    build = KernelBuilder("scatter_in_rows")
    n, m = build.parameter("n", minimum=1), build.parameter("m", minimum=1)
    p = build.input("p", i32, (n,), values=(0, m))
    x, y = build.input("x", i32, (n,)), build.inout("y", i32, (n, m))
    with build.loops(i=n) as i, build.statement("P"):
        y[i, p[i]] = x[i]
    return build.kernel()


def accumulate_rows() -> Kernel:
    """``h[b[i], 0] += x[i, k]``: one element takes all of a row."""
    build = KernelBuilder("accumulate_rows")
    n, m = build.parameter("n", minimum=1), build.parameter("m", minimum=1)
    width = build.parameter("width", minimum=1)
    b = build.input("b", i32, (n,), values=(0, m))
    x, h = build.input("x", f32, (n, width)), build.inout("h", f32, (m, 2))
    with build.loops(i=n, k=width) as (i, k), build.statement("S", order="any"):
        h[b[i], 0] += x[i, k]
    return build.kernel()


def nested() -> Kernel:
    """``y[i] = x[first[second[i]]]``, and a subscript that adds an index to the element."""
    build = KernelBuilder("nested")
    n, m = build.parameter("n", minimum=1), build.parameter("m", minimum=1)
    k = build.parameter("k", minimum=1)
    second = build.input("second", i32, (n,), values=(0, k))
    first = build.input("first", i32, (k,), values=(0, m))
    x, y = build.input("x", i32, (n + m,)), build.output("y", i32, (n,))
    with build.loops(i=n) as i:
        y[i] = x[cast(first[second[i]], i64) + i]
    return build.kernel()


def through_a_temporary() -> Kernel:
    """``t[j] = 2 * x[j]``, then ``y[i] = t[idx[i]]``."""
    build = KernelBuilder("through_a_temporary")
    n, m = build.parameter("n", minimum=1), build.parameter("m", minimum=1)
    idx = build.input("idx", i32, (n,), values=(0, m))
    x, t = build.input("x", i32, (m,)), build.temporary("t", i32, (m,))
    y = build.output("y", i32, (n,))
    with build.loops(j=m) as j, build.statement("T"):
        t[j] = 2 * x[j]
    with build.loops(i=n) as i, build.statement("Y"):
        y[i] = t[idx[i]]
    return build.kernel()


def scatter_sums() -> Kernel:
    """``h[i, p[i, k]] += x[i, k]``."""
    build = KernelBuilder("scatter_sums")
    n, m = build.parameter("n", minimum=1), build.parameter("m", minimum=1)
    width = build.parameter("width", minimum=1)
    p = build.input("p", i32, (n, width), values=(0, m))
    x, h = build.input("x", i32, (n, width)), build.inout("h", i32, (n, m))
    with build.loops(i=n, k=width) as (i, k), build.statement("S", order="any"):
        h[i, p[i, k]] += x[i, k]
    return build.kernel()
