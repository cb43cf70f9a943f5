"""rfactor of reductions whose elements depend on data."""

from dataclasses import replace

import islpy as isl
import numpy as np
import pytest

from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import executed
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.check import check
from polysched.legality.checks.storage import UndecidedError, storage_violation
from polysched.legality.verdicts.verdict import VerdictKind
from polysched.schedule.schedule import Schedule
from tests.support.analyzed import assert_dependences_are_those_of_a_new_analysis
from tests.support.differential import assert_agrees, spread

SIZES = (0, 1, 4, 7, 8, 9)


def histograms() -> Kernel:
    """``S: h[i, v[i, k]] += 1``: a histogram of each row of values from 0 to 4."""
    build = KernelBuilder("histograms")
    n, m = build.parameter("n"), build.parameter("m")
    value = build.input("v", i32, (n, m), values=(0, 5))
    counts = build.inout("h", i32, (n, 5))
    with build.loops(i=n, k=m) as (i, k), build.statement("S", order="any"):
        counts[i, value[i, k]] += 1
    return build.kernel()


def test_elements_that_depend_on_data() -> None:
    """A partial result holds all elements that may be updated."""
    schedule = Schedule(histograms()).split("k", 4)
    assert not check(schedule.parallel("ko")).is_legal
    schedule = schedule.rfactor("S", "ko")
    assert_dependences_are_those_of_a_new_analysis(schedule.program)
    assert all(
        one.may == ("S" in (one.source.statement, one.sink.statement))
        for one in schedule.program.dependences
    )
    schedule = schedule.parallel("ko").vectorize("S_combine.d1", 4)
    for sizes in spread("n", "m", values=SIZES):
        generator = np.random.default_rng(sizes["m"])
        given = {"v": generator.integers(0, 5, (sizes["n"], sizes["m"]), np.int32)}
        assert_agrees(schedule, sizes, given=given)


def test_every_element_that_data_may_choose_is_started() -> None:
    program = Schedule(histograms()).rfactor("S", "k").program
    assert storage_violation(program, executed(program.tree)) is None
    started = program.statements["S_init"].domain
    part = started.subtract(started.lower_bound_val(isl.dim_type.set, 3, isl.Val(4)))
    partly = tuple(
        replace(one, relation=one.relation.intersect_domain(part))
        if one.source.statement == "S_init"
        else one
        for one in program.dependences
    )
    with pytest.raises(UndecidedError, match="subscripts of 'h_partial' depend on data"):
        storage_violation(replace(program, dependences=partly), executed(program.tree))


def test_two_tiles_of_elements_that_depend_on_data() -> None:
    verdict = check(Schedule(histograms()).rfactor("S", "k").distribute("i"))
    assert verdict.kind is VerdictKind.UNKNOWN
    assert "its tiles take turns in one piece of memory" in verdict.reason
