"""Lifetimes of buffers; the schedules that break them are in test_check."""

from dataclasses import replace

from polysched.dependence.relations import DependenceKind
from polysched.ir.builder import KernelBuilder
from polysched.ir.dtypes import i32
from polysched.ir.tree import executed
from polysched.legality.explain import sentence
from polysched.legality.storage import storage_violation
from polysched.legality.verdict import Cause, Violation
from polysched.schedule.program import Program
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import matmul, producer_consumer, windows


def judged(program: Program) -> Violation | None:
    return storage_violation(program, executed(program.tree))


def test_without_buffers_there_is_nothing_to_break() -> None:
    assert judged(Schedule(matmul()).program) is None


def test_buffers_of_buffers() -> None:
    schedule = Schedule(matmul("any")).split("k", 4).promote("C", "update.j")
    assert judged(schedule.promote("C_local", "update.ko", into="inner").program) is None


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
    assert sentence(violation).endswith("T[0,0] reads an element that nothing there has written.")


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
    found = judged(replace(program, dependences=updates))
    assert found is not None
    assert found.cause is Cause.LIFETIME
