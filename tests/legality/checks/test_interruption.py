"""Tiles of a reduction that add their parts at the same time."""

import pytest

from polysched.ir.core.tree import executed
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.check import check
from polysched.legality.checks.storage import storage_violation
from polysched.legality.verdicts.verdict import Cause, Violation
from polysched.loops.verify.last_writer import last_writer_errors
from polysched.schedule.core.program import Program
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import interrupted_sums


def judged(program: Program) -> Violation | None:
    return storage_violation(program, executed(program.tree))


def test_a_reduction_is_not_interrupted_by_another_tile() -> None:
    schedule = interrupted_sums()
    violation = judged(schedule.program)
    assert violation is not None
    assert violation.cause is Cause.INTERRUPTED
    assert last_writer_errors(schedule, dict(violation.witness.parameters))


def sums_in_private_tiles(*, repeated: bool) -> Schedule:
    """Each term is added in memory of its own, once, or in every iteration of a loop around."""
    build = KernelBuilder("private_sums")
    a, b = build.inout("a", i32, (1,)), build.input("b", i32, (2,))
    with build.loops(t=2 if repeated else 1, i=2) as (_, i), build.statement("S", order="any"):
        a[0] += b[i]
    schedule = Schedule(build.kernel()).promote("a", "i", into="tile")
    return schedule.privatize("tile", "tile_in.i", into="own")


@pytest.mark.parametrize("repeated", [False, True])
def test_tiles_with_memory_of_their_own_do_not_interrupt_each_other_either(repeated: bool) -> None:
    schedule = sums_in_private_tiles(repeated=repeated)
    assert check(schedule).is_legal
    apart = schedule.distribute("tile_out.i")
    violation = judged(apart.program)
    assert violation is not None
    assert (violation.cause, violation.array) == (Cause.INTERRUPTED, "own")
    assert last_writer_errors(apart, dict(violation.witness.parameters))


def test_tiles_with_memory_of_their_own_in_threads() -> None:
    assert not check(sums_in_private_tiles(repeated=False).parallel("i")).is_legal


@pytest.mark.parametrize("copied", ["out", "in"])
def test_another_copy_in_between_hides_nothing(copied: str) -> None:
    """What is read of ``a`` reaches ``a`` by way of two buffers."""
    apart = sums_in_private_tiles(repeated=False).distribute("tile_out.i", after="S")
    if copied == "out":
        schedule = apart.pack("own", at="tile_out.i", into="last")
    else:
        schedule = apart.promote("own", at="S.i", into="first")
    violation = judged(schedule.program)
    assert violation is not None
    assert violation.cause is Cause.INTERRUPTED
    assert last_writer_errors(schedule, dict(violation.witness.parameters))


def test_copies_that_are_computed_in_another_place() -> None:
    """The copies into the buffer have more indices than those out of it."""
    build = KernelBuilder("sums")
    a, b = build.inout("a", i32, ()), build.input("b", i32, (4,))
    with build.loops(i=4) as i, build.statement("S", order="any"):
        a[()] += b[i]
    tiles = Schedule(build.kernel()).promote("a", "i", into="tile").distribute("tile_in.i")
    together = tiles.compute_at("tile", at="tile_out.i", recompute=True)
    assert check(together).is_legal
    assert not last_writer_errors(together, {})
    own = together.privatize("tile_at_i", at="tile_out.i", into="own")
    violation = judged(own.distribute("tile_out.i", after="S").program)
    assert violation is not None
    assert violation.cause is Cause.INTERRUPTED
