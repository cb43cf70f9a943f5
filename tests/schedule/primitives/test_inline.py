"""inline: which values may move to their reader, and that the others are refused."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polysched.autoscheduler.forms.legal import applied
from polysched.errors import StepError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32, i32
from polysched.ir.expr.functions import cast, minimum, select
from polysched.legality.check import check
from polysched.schedule.primitives.inline import Inline
from polysched.schedule.schedule import Schedule
from tests.simplify.chains import random_chain
from tests.support.differential import assert_agrees
from tests.support.effort import cases

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


def summed(order: str = "exact") -> Kernel:
    """``t = t + x[i]; y[i] = t``: the value comes from the iteration before."""
    build = KernelBuilder("summed")
    n = build.parameter("n")
    x, y = build.input("x", f32, (n,)), build.output("y", f32, (n,))
    t = build.temporary("t", f32, ())
    with build.statement("Z"):
        t[()] = 0.0
    with build.loops(i=n) as i:
        with build.statement("P", order=order):
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
        (summed(), "t", "does not read 't' as one statement wrote it"),
        (summed("any"), "t", "does not read 't' as one statement wrote it"),
        (two_sources(), "t", "does not read 't' as one statement wrote it"),
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


SHAPES = {"n": 11}


def _forwarded(kernel: Kernel, by: str) -> Schedule:
    """The kernel by one of the two ways to forward values, after comparing results bit for bit."""
    schedule = Schedule(replace(kernel, fp_contract=False))
    schedule = schedule.inline("t") if by == "inline" else schedule.simplify()
    assert_agrees(schedule, SHAPES)
    return schedule


WAYS = pytest.mark.parametrize("by", ["inline", "simplify"])
TYPES = [
    ("f64", "f32"),
    ("f32", "bf16"),
    ("f32", "f16"),
    ("i32", "i8"),
    ("i32", "u8"),
    ("i16", "i8"),
    ("f64", "f16"),
    ("i32", "i32"),
]


@WAYS
@pytest.mark.parametrize(("wide", "narrow"), TYPES)
@settings(max_examples=cases(2), deadline=None)
@given(shift=st.integers(0, 3), factor=st.integers(1, 7), twice=st.booleans())
def test_a_value_is_converted_as_its_array_stores_it(
    by: str, wide: str, narrow: str, shift: int, factor: int, twice: bool
) -> None:
    build = KernelBuilder("narrow")
    n = build.parameter("n", minimum=1)
    x, y = build.input("x", wide, (n + 3,)), build.output("y", wide, (n,))
    t = build.temporary("t", narrow, (n + 3,))
    with build.loops(i=n + 3) as i:
        t[i] = cast(x[i] * factor + x[i], narrow)
    with build.loops(j=n) as j:
        read = cast(t[j + shift], wide)
        y[j] = read * read if twice else read * 3
    assert "t" not in _forwarded(build.kernel(), by).program.arrays


def scattered() -> Kernel:
    """``t[i] = 2*x[i]; t[index[k]] = 5; y[j] = t[j]``: the store may change any value."""
    build = KernelBuilder("scattered")
    n = build.parameter("n", minimum=1)
    x, y = build.input("x", "f32", (n,)), build.output("y", "f32", (n,))
    index, t = build.input("index", "u8", (n,)), build.temporary("t", "f32", (n + 256,))
    with build.loops(i=n) as i:
        t[i] = 2 * x[i]
    with build.loops(k=n) as k:
        t[index[k]] = 5.0
    with build.loops(j=n) as j:
        y[j] = t[j]
    return build.kernel()


def gathered_operand() -> Kernel:
    """``t[i] = x[index[i]]; x[k] = 0; y[j] = t[j]``: any element may change before the read."""
    build = KernelBuilder("gathered_operand")
    n = build.parameter("n", minimum=1)
    x, y = build.inout("x", "f32", (n + 256,)), build.output("y", "f32", (n,))
    index, t = build.input("index", "u8", (n,)), build.temporary("t", "f32", (n,))
    with build.loops(i=n) as i:
        t[i] = x[index[i]]
    with build.loops(k=(n, n + 1)) as k:
        x[k] = 0.0
    with build.loops(j=n) as j:
        y[j] = t[j]
    return build.kernel()


def later_operand() -> Kernel:
    """``x[i] = t[i + 1]`` before ``x[i + 1]``: the value in ``t`` is older than the operand."""
    build = KernelBuilder("later_operand")
    n = build.parameter("n", minimum=1)
    x = build.inout("x", "f32", (n + 1,))
    t = build.temporary("t", "f32", (n + 1,))
    with build.loops(i=n + 1) as i:
        t[i] = 2 * x[i]
    with build.loops(j=n) as j:
        x[j + 1] = t[j]
    return build.kernel()


def partly_overwritten() -> Kernel:
    """Every second value is replaced before the shifted read."""
    build = KernelBuilder("partly_overwritten")
    n = build.parameter("n", minimum=1)
    x, y = build.input("x", "f32", (n + 1,)), build.output("y", "f32", (n,))
    t = build.temporary("t", "f32", (n + 1,))
    with build.loops(i=n + 1) as i:
        t[i] = 2 * x[i]
    with build.loops(k=(0, n + 1, 2)) as k:
        t[k] = 1.0
    with build.loops(j=n) as j:
        y[j] = t[j + 1]
    return build.kernel()


def conditional() -> Kernel:
    """``t[k] = x[k] > 0 ? 1 : t[k]`` keeps an older value where the condition does not hold."""
    build = KernelBuilder("conditional")
    n = build.parameter("n", minimum=1)
    x, y = build.input("x", "f32", (n + 1,)), build.output("y", "f32", (n,))
    t = build.temporary("t", "f32", (n + 1,))
    with build.loops(i=n + 1) as i:
        t[i] = 2 * x[i]
    with build.loops(k=n) as k:
        t[k] = select(x[k] > 0.0, 1.0, t[k])
    with build.loops(j=n) as j:
        y[j] = t[j + 1]
    return build.kernel()


HAZARDS = [overwritten, scattered, gathered_operand, later_operand, partly_overwritten, conditional]


@pytest.mark.parametrize("build", HAZARDS)
def test_values_that_may_change_are_not_forwarded(build: Callable[[], Kernel]) -> None:
    with pytest.raises(StepError, match="changes 'x'|depend on data|as one statement wrote it"):
        Schedule(build()).inline("t")


@pytest.mark.parametrize("build", HAZARDS)
def test_simplified_hazards_keep_their_values(build: Callable[[], Kernel]) -> None:
    _forwarded(build(), "simplify")


def test_a_simplified_definition_that_reads_the_sum_ends_the_reduction() -> None:
    build = KernelBuilder("grown")
    n = build.parameter("n", minimum=1)
    x, y = build.input("x", "i32", (n,)), build.inout("y", "i32", (1,))
    t = build.temporary("t", "i32", (n,))
    with build.loops(i=n) as i:
        t[i] = y[0] * x[i]
        with build.statement("C", order="any"):
            y[0] = y[0] + t[i]
    schedule = _forwarded(build.kernel(), "simplify")
    assert schedule.program.statements["C"].reduction is None


@pytest.mark.parametrize("seed", range(cases(4)))
def test_inlined_chains(seed: int) -> None:
    """Every temporary of a random chain that can be inlined is, and the results stay the same."""
    schedule = Schedule(replace(random_chain(seed), fp_contract=False))
    for name in [*schedule.program.arrays]:
        schedule = applied(schedule, (Inline(name),)) or schedule
    assert_agrees(schedule, {"n": 9, "m": 7})
