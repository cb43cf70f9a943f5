"""Wavefronts are offered where neither loop of a nest can run at once, and are legal."""

from __future__ import annotations

import pytest

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.check import check
from polysched.legality.repairs.repair_vector import wavefronts
from polysched.legality.repairs.search import repairs
from polysched.schedule.primitives.parallel import Parallel
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import matmul
from tests.legality.repairing import case_of


def sweep(ahead: int) -> Kernel:
    """Each element reads its left neighbor, and one ``ahead`` to the right in the row above."""
    build = KernelBuilder("sweep")
    n, m = build.parameter("n", minimum=1), build.parameter("m", minimum=1)
    u = build.inout("u", i32, (n, m + ahead + 1))
    with build.loops(i=(1, n), j=(1, m)) as (i, j), build.statement("S"):
        u[i, j] = u[i, j - 1] + u[i - 1, j + ahead]
    return build.kernel()


def test_the_loops_of_a_nest_are_skewed_and_interchanged() -> None:
    edits = wavefronts(case_of(Schedule(sweep(0)).parallel("i")))
    assert [edit.inserted for edit in edits] == [
        (Skew("j", "i", factor), Reorder(("j", "i")), Parallel("i")) for factor in (1, 2, 3)
    ]


@pytest.mark.parametrize(("ahead", "factor"), [(0, 1), (1, 2), (2, 3)])
@pytest.mark.parametrize("loop", ["i", "j"])
@pytest.mark.parametrize("how", ["parallel", "vectorize"])
def test_the_smallest_factor_is_offered(ahead: int, factor: int, loop: str, how: str) -> None:
    given = Schedule(sweep(ahead))
    schedule = given.parallel(loop) if how == "parallel" else given.vectorize(loop, 4)
    steps = [repair.schedule.steps for repair in repairs(schedule)]
    skewed = [own for own in steps if isinstance(own[0], Skew)]
    assert [own[0] for own in skewed] == [
        Skew("j", "i", factor),
    ]
    assert all(check(repair.schedule).is_legal for repair in repairs(schedule))


def test_where_another_loop_is_legal_there_is_no_wavefront() -> None:
    offered = repairs(Schedule(matmul()).parallel("k"))
    assert offered
    assert not any(isinstance(step, Skew) for one in offered for step in one.schedule.steps)


def test_a_single_loop_has_no_wavefront() -> None:
    build = KernelBuilder("prefix")
    n = build.parameter("n", minimum=1)
    x = build.inout("x", i32, (n,))
    with build.loops(i=(1, n)) as i, build.statement("S"):
        x[i] = x[i] + x[i - 1]
    assert wavefronts(case_of(Schedule(build.kernel()).parallel("i"))) == []
