from polysched.dependence.relations import Reference
from polysched.ir.isl.smallest import SmallPoint
from polysched.legality.verdicts.witness import bare_occurrence, occurrence
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import matmul

N4 = (("N", 4),)


def test_an_access_in_numbers() -> None:
    program = Schedule(matmul()).split("k", 2).program
    shown = occurrence(program, Reference("update", 2), SmallPoint(N4, (1, 2, 3)))
    assert (shown.name, shown.action, shown.touched) == ("update[1,2,3]", "reads", "A[1,3]")
    assert shown.access == "A[i, k]"
    assert shown.old == (("i", 1), ("j", 2), ("k", 3))
    assert shown.new == (("i", 1), ("j", 2), ("ko", 1), ("ki", 1))
    assert shown.tile == ()
    assert shown.location is not None
    assert shown.location.file.endswith("kernels.py")


def test_of_a_buffer_the_tile_and_the_place() -> None:
    program = Schedule(matmul()).split("update.j", 2).promote("C", "jo").program
    shown = occurrence(program, Reference("update", 0), SmallPoint(N4, (1, 3, 0)))
    assert (shown.touched, shown.tile) == ("C_local[0,1]", (1, 1))


def test_a_copy_has_no_old_time() -> None:
    program = Schedule(matmul()).promote("C", "update.j").program
    point = SmallPoint(N4, (1, 3, 1, 3))
    shown = occurrence(program, Reference("C_local_in", 1), point)
    assert shown.old is None
    assert shown.new == (("i", 1), ("j", 3), ("d0", 0), ("d1", 0))


def test_lanes_are_shown_where_they_run() -> None:
    program = Schedule(matmul("any")).vectorize("update.j", 2).program
    shown = bare_occurrence(program, program.statements["update"], SmallPoint(N4, (0, 3, 1)))
    assert shown.action == "runs"
    assert shown.new == (("i", 0), ("j", 1), ("k", 1), ("jv", 1))
