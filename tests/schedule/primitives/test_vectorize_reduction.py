from collections.abc import Callable

import pytest

from polysched.errors import StepError
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import LoopKind, path
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, f32, f64, i16, i32
from polysched.ir.expr.expressions import Expression, Index
from polysched.ir.expr.functions import maximum
from polysched.machine.load import load_machine
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees, spread
from tests.support.effort import covering
from tests.support.showing import before_and_after

SIZES = (0, 1, 3, 4, 5, 8, 11, 12, 13, 25)


def sums(
    dtype: DType = f32,
    order: str | None = "any",
    combine: Callable[[Expression, Expression], Expression] = lambda old, new: old + new,
    *,
    triangular: bool = False,
) -> Kernel:
    """``S: r[i] = r[i] op x[i, k]`` for all rows; triangular: ``k <= i``."""
    build = KernelBuilder("sums")
    n, m = build.parameter("n"), build.parameter("m")
    x, r = build.input("x", dtype, (n, n if triangular else m)), build.inout("r", dtype, (n,))
    end = Index("i") + 1 if triangular else m
    with build.loops(i=n, k=end) as (i, k), build.statement("S", order=order):
        r[i] = combine(r[i], x[i, k])
    return build.kernel()


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(sums()).vectorize_reduction("S", "k", 16)
    check_golden("schedule/vectorize_reduction.txt", before_and_after(schedule))


@covering(1, accumulators=[1, 2, 3], dtype=[f64, i32, i16])
def test_sums(dtype: DType, accumulators: int) -> None:
    schedule = Schedule(sums(dtype)).vectorize_reduction("S", "k", 4, accumulators)
    assert schedule.program.statements["S"].reduction is not None
    assert_agrees(schedule, *spread("n", "m", values=SIZES))


@pytest.mark.parametrize("accumulators", [1, 2])
def test_extrema_of_triangular_rows(accumulators: int) -> None:
    kernel = sums(i32, combine=maximum, triangular=True)
    schedule = Schedule(kernel).vectorize_reduction("S", "S.k", 4, accumulators)
    names = [name for name in kernel.parameters if name == "n"]
    assert_agrees(schedule, *({**dict.fromkeys(kernel.parameters, 1), names[0]: n} for n in SIZES))


def test_the_sum_runs_in_lanes() -> None:
    schedule = Schedule(sums()).vectorize_reduction("S", "k", 8, 2)
    around = path(schedule.program.tree, "S")
    assert [loop.kind for loop in around[-2:]] == [LoopKind.UNROLLED, LoopKind.VECTOR]
    assert around[-1].lanes == 8


def test_lanes_are_those_of_the_machine_by_default() -> None:
    bits = load_machine().vector_bits
    for dtype in (f32, f64):
        (step,) = Schedule(sums(dtype)).vectorize_reduction("S", "k").steps
        assert getattr(step, "lanes", None) == bits // dtype.bits


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("R", "k", 4), "no statement 'R'; known are 'S'"),
        (("S", "j", 4), "no loop 'S.j'"),
        (("S", "i", 4), "loop 'i' holds more than statement 'S'"),
        (("S", "k", 3), "expected a power of two up to 64"),
        (("S", "k", 0), "the number of lanes of vectorize_reduction('S') is 0"),
        (("S", "k", 4, 0), "the number of accumulators of vectorize_reduction('S') is 0"),
        (("S", "k", 64, 17), "17 accumulators of 64 lanes are 1088 elements; expected at most"),
    ],
)
def test_misuse(arguments: tuple[str, str, int], message: str) -> None:
    with pytest.raises(StepError) as caught:
        Schedule(sums()).vectorize_reduction(*arguments)
    assert message in str(caught.value)


def test_a_sum_in_order_is_refused() -> None:
    with pytest.raises(StepError, match="must combine in the program's order"):
        Schedule(sums(order="exact")).vectorize_reduction("S", "k", 4)
