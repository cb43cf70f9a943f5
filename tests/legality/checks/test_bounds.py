"""Accesses outside arrays and reads of what nobody wrote: faults of the kernel itself."""

import pytest

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.check import check
from polysched.legality.verdicts.verdict import ViolationKind
from polysched.schedule.schedule import Schedule


def stencil(lower: int, upper: int) -> Kernel:
    build = KernelBuilder("stencil")
    n = build.parameter("N", minimum=3)
    a, b = build.input("A", i32, (n, 4)), build.output("B", i32, (n,))
    with build.loops(i=(lower, n - upper)) as i, build.statement("S"):
        b[i] = a[i - 1, 0] + a[i + 1, 3]
    return build.kernel()


def test_inside() -> None:
    assert check(Schedule(stencil(1, 1))).is_legal


@pytest.mark.parametrize(
    ("lower", "upper", "access", "touched"),
    [(0, 1, "A[i - 1, 0]", "A[-1,0]"), (1, 0, "A[i + 1, 3]", "A[3,3]")],
)
def test_outside(lower: int, upper: int, access: str, touched: str) -> None:
    verdict = check(Schedule(stencil(lower, upper)).split("i", 4).reverse("io"))
    violation = verdict.violation
    assert violation is not None
    assert violation.kind is ViolationKind.BOUNDS
    assert violation.in_kernel
    assert violation.offending_step is None
    assert violation.shape == (3, 4)
    assert violation.witness.parameters == (("N", 3),)
    assert violation.witness.source.access == access
    assert violation.witness.source.touched == touched
    assert "statement S of the kernel accesses A outside its bounds" in verdict.reason
    assert "array A has the shape (3, 4)" in verdict.reason
    assert "If such sizes never occur, exclude them: by 'assert n >= 1'" in verdict.reason


def test_the_context_counts() -> None:
    build = KernelBuilder("diagonal")
    n, m = build.parameter("N"), build.parameter("M")
    build.assume(n <= m)
    a = build.inout("A", i32, (m,))
    with build.loops(i=n) as i:
        a[i] = 1
    assert check(Schedule(build.kernel())).is_legal


def test_an_undefined_read() -> None:
    build = KernelBuilder("prefix_sum")
    n = build.parameter("N", minimum=2)
    a, s = build.input("a", i32, (n,)), build.output("s", i32, (n,))
    with build.loops(i=(1, n)) as i, build.statement("S"):
        s[i] = s[i - 1] + a[i]
    verdict = check(Schedule(build.kernel()).split("i", 2))
    violation = verdict.violation
    assert violation is not None
    assert violation.kind is ViolationKind.UNDEFINED
    assert violation.in_kernel
    assert violation.witness.source.name == "S[1]"
    assert violation.witness.source.touched == "s[0]"
    assert "reads s before anything is written to it" in verdict.reason
    assert "declare s inout" in verdict.reason


def test_a_reduction_needs_a_start() -> None:
    build = KernelBuilder("sum")
    n = build.parameter("N", minimum=2)
    a, s = build.input("a", i32, (n,)), build.output("s", i32, (1,))
    with build.loops(i=n) as i, build.statement("S", order="any"):
        s[0] += a[i]
    violation = check(Schedule(build.kernel())).violation
    assert violation is not None
    assert violation.kind is ViolationKind.UNDEFINED
    assert violation.witness.source.name == "S[0]"


def test_an_array_that_is_written_first_may_be_read() -> None:
    build = KernelBuilder("prefix_sum")
    n = build.parameter("N", minimum=2)
    a, s = build.input("a", i32, (n,)), build.output("s", i32, (n,))
    with build.statement("start"):
        s[0] = a[0]
    with build.loops(i=(1, n)) as i, build.statement("S"):
        s[i] = s[i - 1] + a[i]
    assert check(Schedule(build.kernel())).is_legal


def test_a_write_that_depends_on_data_defines_nothing_surely() -> None:
    build = KernelBuilder("scatter")
    index = build.input("index", i32, (4,), values=(0, 4))
    x, y = build.input("x", i32, (4,)), build.output("y", i32, (4,))
    t = build.temporary("t", i32, (4,))
    with build.loops(i=4) as i, build.statement("scatter"):
        t[index[i]] = x[i]
    with build.loops(i=4) as i, build.statement("use"):
        y[i] = t[i]
    violation = check(Schedule(build.kernel())).violation
    assert violation is not None
    assert violation.kind is ViolationKind.UNDEFINED
    assert violation.witness.source.statement == "use"


def test_the_same_access_to_a_smaller_array() -> None:
    build = KernelBuilder("two")
    n = build.parameter("N", minimum=3)
    large, small = build.output("large", i32, (n,)), build.output("small", i32, (n - 1,))
    for array in (large, small):
        with build.loops(i=n) as i:
            array[i] = 1
    violation = check(Schedule(build.kernel())).violation
    assert violation is not None
    assert (violation.kind, violation.array) == (ViolationKind.BOUNDS, "small")
