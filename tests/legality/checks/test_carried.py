import pytest

from polysched.ir.core.tree import loops
from polysched.legality.checks.carried import dependences_within, loop_reference
from polysched.schedule.core.program import find_loop
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import copy_shifted, matmul, seidel
from tests.support.kernels import jacobi


def test_what_an_outer_loop_carries_is_left_out() -> None:
    program = Schedule(copy_shifted(1, -1)).program
    assert len(dependences_within(program, find_loop(program, "i"))) == 1
    assert dependences_within(program, find_loop(program, "j")) == []


def test_dependences_with_statements_elsewhere_are_left_out() -> None:
    program = Schedule(jacobi()).program
    ends = {(one.source, one.sink) for one in dependences_within(program, find_loop(program, "s"))}
    assert ("there", "back") in ends
    assert dependences_within(program, find_loop(program, "there.i")) == []


def test_pairs_by_their_distance_in_a_loop() -> None:
    program = Schedule(seidel()).program
    t, i = find_loop(program, "t"), find_loop(program, "i")
    demands = dependences_within(program, t)
    assert all(one.backward(t).is_empty() for one in demands)
    assert any(not one.backward(i).is_empty() for one in demands)
    for one in demands:
        same, apart = one.together(t).pairs, one.apart(t)
        assert same.union(apart).is_equal(one.pairs)
        assert same.intersect(apart).is_empty()
        assert same.is_equal(one.together(t).together(t).pairs)


@pytest.mark.parametrize("schedule", [Schedule(matmul()), Schedule(matmul()).split("k", 4)])
def test_the_reference_names_the_loop_and_is_short(schedule: Schedule) -> None:
    program = schedule.program
    for loop in loops(program.tree):
        reference = loop_reference(program, loop)
        assert find_loop(program, reference) is loop
        assert ("." in reference) == (loop.name in "ij")
