"""Verdicts on subscripts that depend on data: conservative, and said so; never wrong."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import executed
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.semantics.reference import run_reference
from polysched.legality.check import check
from polysched.legality.checks.storage import UndecidedError, storage_violation
from polysched.legality.condition import legality_condition
from polysched.legality.repairs.search import repairs
from polysched.legality.reports.loop_properties import explain_loops
from polysched.legality.reports.loop_reports import format_loop_reports
from polysched.legality.reports.report import as_json
from polysched.legality.verdicts.verdict import Cause, Verdict, VerdictKind, ViolationKind
from polysched.lower import lower
from polysched.schedule.schedule import Schedule
from tests.support.indirect import (
    embedding,
    gather,
    histogram,
    nested,
    permutation,
    scatter_in_rows,
    scatter_sums,
    sparse_product,
    through_a_temporary,
)
from tests.support.interpreting import interpret

CONSERVATIVE = "Conservative: subscript {} depends on data, so every value in the declared range"


def _refused(schedule: Schedule) -> Verdict:
    verdict = check(schedule)
    assert verdict.kind is VerdictKind.ILLEGAL
    return verdict


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(gather()).vectorize("i", 8),
        Schedule(gather()).parallel("i"),
        Schedule(nested()).vectorize("i", 8),
        Schedule(scatter_in_rows()).vectorize("i", 8),
        Schedule(scatter_in_rows()).parallel("i"),
        Schedule(sparse_product()).distribute("i").reorder("k", "S.i").vectorize("S.i", 8),
        Schedule(embedding()).vectorize("S.c", 8).parallel("S.i"),
        Schedule(histogram()).reverse("i"),
        Schedule(histogram("exact")).split("i", 4),
        Schedule(through_a_temporary()).vectorize("j", 8).parallel("i"),
        Schedule(through_a_temporary()).compute_at("T", "i"),
    ],
    ids=lambda schedule: schedule.trace(),
)
def test_legal(schedule: Schedule) -> None:
    assert check(schedule).is_legal


def test_lanes_may_collide() -> None:
    verdict = _refused(Schedule(permutation()).vectorize("i", 8))
    assert verdict.violation is not None
    assert verdict.violation.cause is Cause.LANES
    lines = verdict.reason.splitlines()
    assert "puts both ends of a possible output dependence on y into one vector" in lines[0]
    assert lines[2].startswith("  P[0] may write y[0] ")
    assert lines[3].startswith("  P[1] may write y[0] ")
    assert CONSERVATIVE.format("p[i]") in lines[-1]


@pytest.mark.parametrize("step", ["vectorize", "parallel"])
def test_a_reduction_free_in_its_order_may_still_collide(step: str) -> None:
    schedule = Schedule(histogram())
    schedule = schedule.vectorize("i", 8) if step == "vectorize" else schedule.parallel("i")
    verdict = _refused(schedule)
    assert "H[1] may read h[0]" in verdict.reason
    assert "the order of the reduction is free, but no two of its instances may" in verdict.reason
    assert CONSERVATIVE.format("idx[i]") in verdict.reason


def test_a_reduction_whose_order_counts_keeps_it() -> None:
    schedule = Schedule(histogram("exact")).reverse("i")
    assert "breaks a possible flow dependence on h" in _refused(schedule).reason
    assert any('order="any"' in repair.description for repair in repairs(schedule))


def test_the_exact_end_of_a_possible_dependence_is_said_exactly() -> None:
    reason = _refused(Schedule(through_a_temporary()).fuse("j", "i")).reason
    assert "T[1] writes t[1]" in reason
    assert "Y[0] may read t[1]" in reason


def test_the_verdict_as_data_says_may() -> None:
    violation = as_json(_refused(Schedule(permutation()).vectorize("i", 8)))["violation"]
    assert violation["may"] is True
    assert violation["source"]["depends_on"] == ["p[i]"]
    assert violation["source"]["element"] == violation["sink"]["element"] == [0]


def test_a_legal_part_of_the_parameters() -> None:
    condition = legality_condition(Schedule(permutation()).vectorize("i", 8))
    assert condition is not None
    assert str(condition) == "n == 1"


def test_what_loops_could_be_says_may() -> None:
    text = format_loop_reports(explain_loops(Schedule(permutation())))
    assert "may output on y from P to P, distance >= 1" in text
    assert "hint: 'may': a subscript depends on data" in text


# -- bounds and definedness ------------------------------------------------------------------------


def _reading(extent: int, values: tuple[int, int]) -> Kernel:
    build = KernelBuilder("reading")
    p = build.input("p", i32, (10,), values=values)
    x, y = build.input("x", i32, (extent,)), build.output("y", i32, (10,))
    with build.loops(i=10) as i, build.statement("R"):
        y[i] = x[2 * p[i] + 1]
    return build.kernel()


@pytest.mark.parametrize(
    ("extent", "values", "element"),
    [(8, (0, 4), None), (7, (0, 4), 7), (8, (-1, 4), -1), (8, (0, 5), 9), (8, (3, 4), None)],
)
def test_bounds_are_proved_from_the_declared_range(
    extent: int, values: tuple[int, int], element: int | None
) -> None:
    verdict = check(Schedule(_reading(extent, values)))
    if element is None:
        assert verdict.is_legal
        return
    assert verdict.violation is not None
    assert verdict.violation.kind is ViolationKind.BOUNDS
    assert verdict.violation.witness.source.element == (element,)
    assert f"R[0] may read x[{element}]" in verdict.reason
    assert CONSERVATIVE.format("p[i]") in verdict.reason


def test_the_index_array_has_bounds_too() -> None:
    build = KernelBuilder("reading")
    p = build.input("p", i32, (9,), values=(0, 4))
    x, y = build.input("x", i32, (4,)), build.inout("y", i32, (4,))
    with build.loops(i=10) as i, build.statement("R"):
        y[p[i]] = x[0]
    reason = _refused(Schedule(build.kernel())).reason
    assert "R[9] reads p[9]" in reason
    assert "Conservative" not in reason


def test_a_read_that_may_see_what_nobody_has_written() -> None:
    reason = _refused(Schedule(histogram(initialized=False))).reason
    assert "H[0] may read h[0]" in reason
    assert "write it first, or declare h inout" in reason


def _partly_written(written: int) -> Kernel:
    build = KernelBuilder("partly")
    p = build.input("p", i32, (10,), values=(0, 8))
    t, y = build.temporary("t", i32, (8,)), build.output("y", i32, (10,))
    with build.loops(j=written) as j, build.statement("W"):
        t[j] = 1
    with build.loops(i=10) as i, build.statement("R"):
        y[i] = t[p[i]]
    return build.kernel()


def test_every_element_that_may_be_read_must_have_been_written() -> None:
    assert check(Schedule(_partly_written(8))).is_legal
    verdict = _refused(Schedule(_partly_written(7)))
    assert verdict.violation is not None
    assert verdict.violation.kind is ViolationKind.UNDEFINED
    assert verdict.violation.witness.source.element == (7,)


def test_a_write_that_may_go_elsewhere_defines_nothing() -> None:
    build = KernelBuilder("nowhere")
    p = build.input("p", i32, (8,), values=(0, 8))
    t, y = build.temporary("t", i32, (8,)), build.output("y", i32, (8,))
    with build.loops(i=8) as i, build.statement("W"):
        t[p[i]] = 1
    with build.loops(i=8) as i, build.statement("R"):
        y[i] = t[i]
    verdict = _refused(Schedule(build.kernel()))
    assert verdict.violation is not None
    assert verdict.violation.kind is ViolationKind.UNDEFINED
    assert "R[0] reads t[0], which starts undefined" in verdict.reason


def test_a_write_after_the_read_defines_nothing() -> None:
    build = KernelBuilder("late")
    p = build.input("p", i32, (8,), values=(0, 8))
    t, y = build.temporary("t", i32, (8,)), build.output("y", i32, (8,))
    with build.loops(i=8) as i:
        with build.statement("W"):
            t[i] = 1
        with build.statement("R"):
            y[i] = t[p[i]]
    reason = _refused(Schedule(build.kernel())).reason
    assert "R[0] may read t[1]" in reason


# -- buffers beside a write that may go anywhere ---------------------------------------------------


def _updated_beside_a_scatter(*, inside: bool) -> Kernel:
    """``S: x[i] += k`` in a loop over k; ``W: x[p[i]] = 7`` after it, or inside of it."""
    build = KernelBuilder("beside")
    p = build.input("p", i32, (6,), values=(0, 6))
    x = build.inout("x", i32, (6,))
    with build.loops(i=6) as i:
        with build.loops(k=3):
            with build.statement("S"):
                x[i] += 1
            if inside:
                with build.statement("W"):
                    x[p[i]] = 7
        if not inside:
            with build.statement("W"):
                x[p[i]] = 7
    return build.kernel()


def _results_agree(schedule: Schedule) -> bool:
    generator = np.random.default_rng(0)
    loops = lower(schedule)
    for _ in range(20):
        arrays = {
            "p": generator.integers(0, 6, 6).astype(np.int32),
            "x": generator.integers(0, 9, 6).astype(np.int32),
        }
        expected = run_reference(schedule.kernel, arrays, {})
        if not np.array_equal(interpret(loops, arrays, {})["x"], expected["x"]):
            return False
    return True


def test_a_buffer_is_copied_out_before_a_write_that_may_go_to_it() -> None:
    kernel = _updated_beside_a_scatter(inside=False)
    schedule = Schedule(kernel).promote("x", "k")
    assert check(schedule).is_legal == _results_agree(schedule)
    assert not check(Schedule(kernel).distribute("i", after="S")).is_legal


def test_whatever_is_accepted_is_right() -> None:
    accepted = 0
    for inside, steps in product((False, True), range(2**4)):
        schedule = Schedule(_updated_beside_a_scatter(inside=inside))
        if steps & 1:
            schedule = schedule.reverse("i")
        if steps & 2:
            schedule = schedule.reverse("k")
        if steps & 4:
            schedule = schedule.distribute("i") if not inside else schedule.distribute("k")
        if steps & 8:
            schedule = schedule.pack("p", "i") if not steps & 4 else schedule
        if check(schedule).is_legal:
            accepted += 1
            assert _results_agree(schedule), schedule.trace()
    assert accepted >= 4


def test_a_write_that_may_go_elsewhere_fills_no_buffer() -> None:
    program = Schedule(scatter_sums()).rfactor("S", "k").program
    assert storage_violation(program, executed(program.tree)) is None
    unfilled = tuple(
        one
        for one in program.dependences
        if (one.source.statement, one.sink.statement) != ("S_init", "S_combine")
    )
    with pytest.raises(UndecidedError, match="subscripts of '.*' depend on data"):
        storage_violation(replace(program, dependences=unfilled), executed(program.tree))
