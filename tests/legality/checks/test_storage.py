"""Lifetimes of buffers; the schedules that break them are in test_check."""

from dataclasses import replace

import pytest

from polysched.dependence.relations import DependenceKind
from polysched.ir.core.tree import executed
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.checks.order import order_violation
from polysched.legality.checks.storage import UndecidedError, storage_violation
from polysched.legality.verdicts.explain import sentence
from polysched.legality.verdicts.verdict import Cause, Violation
from polysched.schedule.core.program import Program
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import matmul, producer_consumer, windows
from tests.support.differential import assert_agrees, spread


def judged(program: Program) -> Violation | None:
    return storage_violation(program, executed(program.tree))


def test_without_buffers_there_is_nothing_to_break() -> None:
    assert judged(Schedule(matmul()).program) is None


def test_buffers_of_buffers() -> None:
    schedule = Schedule(matmul("any")).split("k", 4).promote("C", "update.j")
    assert judged(schedule.promote("C_local", "update.ko", into="inner").program) is None


def test_tiles_may_take_turns() -> None:
    """The memory of all tiles is one, and each tile is done with it before the next begins."""
    schedule = Schedule(windows()).promote("t", "i").collapse("i", "k", "ik")
    assert judged(schedule.program) is None
    assert_agrees(schedule, *spread("N", values=(2, 3, 5)))
    assert_agrees(schedule.split("ik", 3), *spread("N", values=(2, 3, 5)))


def broadcast(*, stride: int = 0, updated: bool = False) -> Schedule:
    """``S: y[i] = x[stride * i]`` from a packed ``x``, and ``T: x[0] = i`` where it is updated."""
    build = KernelBuilder("broadcast")
    n = build.parameter("n")
    x, y = build.inout("x", i32, (n + 1,)), build.output("y", i32, (n,))
    with build.loops(i=n) as i:
        with build.loops(j=1), build.statement("S"):
            y[i] = x[stride * i]
        if updated:
            with build.statement("T"):
                x[0] = 3
    return Schedule(build.kernel()).pack("x", "S.j")


def test_tiles_of_one_input_element_may_take_turns_in_any_way() -> None:
    schedule = broadcast().distribute("j").distribute("i")
    assert judged(schedule.program) is None
    assert_agrees(schedule, *spread("n"))
    assert judged(broadcast().shift("i", 1, "S").program) is None


def test_lanes_may_not_store_one_input_element_in_one_place() -> None:
    violation = judged(broadcast().vectorize("S.i", 4).program)
    assert violation is not None
    assert violation.cause is Cause.LANES


def test_tiles_of_different_elements_may_not() -> None:
    violation = judged(broadcast(stride=1).distribute("j").distribute("i").program)
    assert violation is not None
    assert violation.cause is Cause.TWO_TILES


def test_tiles_of_an_element_that_changes_may_not() -> None:
    late = broadcast(updated=True).shift("i", 1, "S").program
    assert order_violation(late, executed(late.tree)) is None
    violation = judged(late)
    assert violation is not None
    assert violation.cause is Cause.TWO_TILES


def test_every_tile_is_one_witness_of_another() -> None:
    schedule = Schedule(matmul()).promote("C", "update.j").vectorize("update.j", 4)
    violation = judged(schedule.program)
    assert violation is not None
    source, sink = violation.witness.source, violation.witness.sink
    assert sink is not None
    assert violation.cause is Cause.TWO_TILES
    assert source.tile != sink.tile
    assert source.new is not None
    assert sink.new is not None
    assert dict(source.new)["j"] == dict(sink.new)["j"]


def test_a_read_that_nothing_feeds() -> None:
    """No step makes such a program; the checker does not trust the steps."""
    program = Schedule(windows()).promote("t", "i").program
    without = [one for one in program.dependences if one.kind is not DependenceKind.FLOW]
    violation = judged(replace(program, dependences=tuple(without)))
    assert violation is not None
    assert violation.cause is Cause.LIFETIME
    assert violation.witness.source.name == "T[0,0]"
    assert sentence(violation) == (
        "T[0,0] reads t_local[0,0], which nothing has written into this memory."
    )


def test_a_read_of_private_memory_that_nothing_feeds() -> None:
    """What was a buffer with tiles and is an array of many now."""
    program = Schedule(windows()).promote("t", "i").privatize("t_local", "i").program
    assert judged(program) is None
    without = [one for one in program.dependences if one.kind is not DependenceKind.FLOW]
    violation = judged(replace(program, dependences=tuple(without)))
    assert violation is not None
    assert violation.cause is Cause.LIFETIME
    assert violation.array == "t_local_private"


def test_a_packed_tile_that_is_filled_too_late() -> None:
    schedule = Schedule(producer_consumer()).split("C.i", 4).pack("t", "io")
    assert judged(schedule.program) is None
    unfed = [one for one in schedule.program.dependences if one.source.statement != "t_packed"]
    violation = judged(replace(schedule.program, dependences=tuple(unfed)))
    assert violation is not None
    assert violation.array == "t_packed"


def test_a_write_that_depends_on_data_covers_no_read() -> None:
    build = KernelBuilder("histograms")
    index = build.input("index", i32, (8,), values=(0, 4))
    h = build.inout("h", i32, (2, 4))
    with build.loops(r=2, i=8) as (r, i), build.statement("S", order="any"):
        h[r, index[i]] += 1
    schedule = Schedule(build.kernel()).split("i", 4, ("io", "ii")).rfactor("S", "io")
    program = schedule.program
    assert judged(program) is None
    # Without its start the combination could rely on updates alone, which may go elsewhere.
    updates = tuple(
        one
        for one in program.dependences
        if (one.source.statement, one.sink.statement) != ("S_init", "S_combine")
    )
    with pytest.raises(UndecidedError, match="subscripts of 'h_partial' depend on data"):
        judged(replace(program, dependences=updates))
