import islpy as isl
import pytest

from polysched.errors import ScheduleError
from polysched.ir.tree import path, restrict
from polysched.schedule.placement import iterations_of_use, placed
from polysched.schedule.printing import format_tree
from polysched.schedule.program import Program, find_loop
from polysched.schedule.schedule import Schedule
from tests.support import kernels


def in_chunks() -> Program:
    return Schedule(kernels.blur()).split("C.i", 4).program


def test_iterations_that_read_an_instance() -> None:
    program = in_chunks()
    uses = iterations_of_use(program, program.dependences, "P", find_loop(program, "io"), "io")
    expected = isl.Map(
        "[n, m] -> { P[i, j] -> [io] : 0 <= j < m and 0 <= i < n + 2 and "
        "exists c : 0 <= c < n and c <= i <= c + 2 and 4 io <= c <= 4 io + 3 }"
    )
    assert uses.is_equal(expected)


def test_only_the_flow_that_is_given_counts() -> None:
    program = in_chunks()
    with pytest.raises(ScheduleError, match="no statement below loop 'io' reads what 'P' produces"):
        iterations_of_use(program, (), "P", find_loop(program, "io"), "io")
    with pytest.raises(
        ScheduleError, match=r"instances of 'P' would be left without a place: loop"
    ):
        iterations_of_use(program, program.dependences[:1], "P", find_loop(program, "io"), "C.io")


def test_a_nest_at_the_start_of_an_iteration() -> None:
    program = in_chunks()
    target = find_loop(program, "io")
    nest, rest = (restrict(program.tree, frozenset({name})) for name in "PC")
    assert nest is not None
    assert rest is not None
    uses = iterations_of_use(program, program.dependences, "P", target, "io")
    first = isl.PwMultiAff.from_map(uses.lexmin())
    tree = placed(program, nest, rest, target, {"P": first})
    assert [loop.name for loop in path(tree, "P")] == ["io", "i", "j"]
    assert [loop.name for loop in path(tree, "C")] == ["io", "ii", "j"]
    assert format_tree(program.with_tree(tree)).index("P:") < format_tree(
        program.with_tree(tree)
    ).index("C:")
