import pytest

from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Order
from polysched.legality.repairs.repair import (
    OrderEdit,
    Repair,
    apply_edit,
    insert_after,
    insert_before,
    leave_out,
    replace_step,
)
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.primitives.split import Split
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import matmul, seidel

SKEW = (Skew("i", "t"),)


def tiled() -> Schedule:
    return Schedule(seidel()).split("t", 4).split("i", 8)


def test_steps_come_before_after_instead_and_go() -> None:
    first, second = tiled().steps
    schedule = tiled()
    edits = [
        insert_before(schedule, 0, SKEW),
        insert_after(schedule, 1, (Skew("io", "to"),)),
        replace_step(schedule, 1, (Split("i", 2),)),
        leave_out(schedule, 0),
    ]
    assert [apply_edit(schedule, edit).steps for edit in edits] == [
        (*SKEW, first, second),
        (first, second, Skew("io", "to")),
        (first, Split("i", 2)),
        (second,),
    ]
    assert [edit.description for edit in edits] == [
        "skew(loop='i', by='t') before split(loop='t', factor=4)",
        "skew(loop='io', by='to') after split(loop='i', factor=8)",
        "split(loop='i', factor=2) instead of split(loop='i', factor=8)",
        "leave out split(loop='t', factor=4)",
    ]


def test_steps_keep_their_source_lines_and_new_ones_have_that_of_their_place() -> None:
    schedule = tiled()
    changed = apply_edit(schedule, insert_before(schedule, 1, (Skew("i", "to"),)))
    first, second = schedule.locations
    assert changed.locations == (first, second, second)
    assert len(changed.programs) == 4


def test_programs_before_the_change_are_not_made_again() -> None:
    schedule = tiled()
    changed = apply_edit(schedule, replace_step(schedule, 1, (Split("i", 2),)))
    assert changed.programs[:2] == schedule.programs[:2]


def test_a_later_step_that_no_longer_fits() -> None:
    schedule = tiled().reverse("io")
    with pytest.raises(ScheduleError, match="reverse\\(loop='io'\\): no loop 'io'"):
        apply_edit(schedule, leave_out(schedule, 1))


def test_a_free_reduction_is_another_kernel() -> None:
    schedule = Schedule(matmul()).split("k", 4)
    changed = apply_edit(schedule, OrderEdit("", "update"))
    reduction = changed.kernel.statements["update"].reduction
    assert reduction is not None
    assert reduction.order is Order.ANY
    assert changed.steps == schedule.steps
    assert any(dependence.reorderable for dependence in changed.program.dependences)
    assert not any(dependence.reorderable for dependence in schedule.program.dependences)


def test_the_repr_of_a_repair_is_one_short_line() -> None:
    edit = leave_out(tiled(), 0)
    repair = Repair("leave out split(loop='t', factor=4)", apply_edit(tiled(), edit), (edit,))
    assert repr(repair) == "<Repair: leave out split(loop='t', factor=4)>"
