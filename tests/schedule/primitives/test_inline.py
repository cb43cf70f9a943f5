"""inline: which values may move to their reader, and that the others are refused."""

import pytest

from polysched.errors import StepError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32, i32
from polysched.ir.expr.functions import minimum
from polysched.legality.check import check
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees

SIZES = (0, 1, 4, 9)


def least(order: str = "exact") -> Kernel:
    """``t = x[i]; t = min(t, x[i + 1]); y[i] = y[i] + 2 * t``."""
    build = KernelBuilder("least")
    n = build.parameter("n")
    x, y = build.input("x", i32, (n + 1,)), build.inout("y", i32, (n,))
    t = build.temporary("t", i32, ())
    with build.loops(i=n) as i:
        with build.statement("P"):
            t[()] = x[i]
        with build.statement("Q"):
            t[()] = minimum(t[()], x[i + 1])
        with build.statement("C", order=order):
            y[i] = y[i] + 2 * t[()]
    return build.kernel()


def test_a_chain_of_definitions_becomes_one_statement() -> None:
    schedule = Schedule(least()).inline("t")
    assert set(schedule.program.statements) == {"C"}
    assert "t" not in schedule.program.arrays
    lanes = schedule.vectorize("i", 4)  # the scalar stood in the way
    assert check(lanes).is_legal
    assert not check(Schedule(least()).vectorize("i", 4)).is_legal
    for n in SIZES:
        assert_agrees(lanes, {"n": n})


def test_a_reduction_stays_one_and_its_read_is_found() -> None:
    statement = Schedule(least("any")).inline("t").program.statements["C"]
    assert statement.reduction is not None
    assert statement.accesses[statement.reduction.read].array == "y"


def test_a_definition_that_reads_the_sum_ends_the_reduction() -> None:
    build = KernelBuilder("twice")
    n = build.parameter("n")
    y, t = build.inout("y", i32, (n,)), build.temporary("t", i32, ())
    with build.loops(i=n) as i:
        with build.statement("P"):
            t[()] = 3 * y[i]
        with build.statement("C", order="any"):
            y[i] = y[i] + t[()]
    schedule = Schedule(build.kernel()).inline("t")
    assert schedule.program.statements["C"].reduction is None
    for n_value in SIZES:
        assert_agrees(schedule, {"n": n_value})


def overwritten() -> Kernel:
    """``t = x[i]; x[i] = 0; y[i] = t``: the value is gone when it is read."""
    build = KernelBuilder("overwritten")
    n = build.parameter("n")
    x, y = build.inout("x", f32, (n,)), build.output("y", f32, (n,))
    t = build.temporary("t", f32, ())
    with build.loops(i=n) as i:
        with build.statement("P"):
            t[()] = x[i]
        with build.statement("K"):
            x[i] = 0.0
        with build.statement("C"):
            y[i] = t[()]
    return build.kernel()


def summed() -> Kernel:
    """``t = t + x[i]; y[i] = t``: the value comes from the iteration before."""
    build = KernelBuilder("summed")
    n = build.parameter("n")
    x, y = build.input("x", f32, (n,)), build.output("y", f32, (n,))
    t = build.temporary("t", f32, ())
    with build.statement("Z"):
        t[()] = 0.0
    with build.loops(i=n) as i:
        with build.statement("P"):
            t[()] = t[()] + x[i]
        with build.statement("C"):
            y[i] = t[()]
    return build.kernel()


def two_sources() -> Kernel:
    """``t = x[i]; if (i >= 2) t = 1; y[i] = t``."""
    build = KernelBuilder("two_sources")
    n = build.parameter("n", minimum=3)
    x, y = build.input("x", f32, (n,)), build.output("y", f32, (n,))
    t = build.temporary("t", f32, (n,))
    with build.loops(i=n) as i, build.statement("P"):
        t[i] = x[i]
    with build.loops(i=(2, n)) as i, build.statement("Q"):
        t[i] = 1.0
    with build.loops(i=n) as i, build.statement("C"):
        y[i] = t[i]
    return build.kernel()


@pytest.mark.parametrize(
    ("kernel", "array", "reason"),
    [
        (overwritten(), "t", "statement 'K' changes 'x' between statements 'P' and 'C'"),
        (summed(), "t", "does not read 't' as one statement wrote it in the same iteration"),
        (two_sources(), "t", "does not read 't' as one statement wrote it in the same iteration"),
        (least(), "x", "not a temporary array"),
    ],
)
def test_refused(kernel: Kernel, array: str, reason: str) -> None:
    with pytest.raises(StepError, match=reason):
        Schedule(kernel).inline(array)


def test_only_before_other_steps() -> None:
    with pytest.raises(StepError, match="no other step before it"):
        Schedule(least()).split("i", 4).inline("t")


def test_values_in_other_loops_of_equal_names() -> None:
    build = KernelBuilder("fused")
    n = build.parameter("n")
    x, y = build.input("x", f32, (n,)), build.output("y", f32, (n,))
    t = build.temporary("t", f32, (n,))
    with build.loops(i=n) as i, build.statement("P"):
        t[i] = 2 * x[i]
    with build.loops(i=n) as i, build.statement("C"):
        y[i] = t[i] + x[i]
    schedule = Schedule(build.kernel()).inline("t")
    assert len(schedule.program.tree.statements) == 1
    for n_value in SIZES:
        assert_agrees(schedule, {"n": n_value})
