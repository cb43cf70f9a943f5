from polysched.plot.dots import Dot, dots
from polysched.plot.instances import instances
from polysched.schedule.schedule import Schedule
from tests.support.kernels import matmul, prefix


def test_a_dot_for_each_instance_in_the_order_of_execution() -> None:
    program = Schedule(prefix(4)).reverse("i").program
    found = instances(program, ("S",), ("i",), {}, (), {})
    assert dots(found) == (
        Dot("S", (3,), 1, 0, ()),
        Dot("S", (2,), 1, 1, ()),
        Dot("S", (1,), 1, 2, ()),
    )


def test_instances_at_one_place_are_one_dot_of_the_first() -> None:
    program = Schedule(matmul(1, 2, 4)).split("update.l", 2).reorder("lo", "update.j", "li").program
    found = instances(program, ("update",), ("j",), {}, ("lo",), {})
    assert dots(found) == (
        Dot("update", (0,), 4, 0, (0,)),
        Dot("update", (1,), 4, 2, (0,)),
    )


def test_statements_stay_apart() -> None:
    program = Schedule(matmul(1, 1, 1)).program
    found = instances(program, ("init", "update"), ("i", "j"), {}, (), {})
    assert dots(found) == (
        Dot("init", (0, 0), 1, 0, ()),
        Dot("update", (0, 0), 1, 1, ()),
    )
