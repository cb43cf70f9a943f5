"""What is asked of a program: how far a loop runs, and what one of its iterations holds."""

import islpy as isl
import pytest

from polysched.ir.core.tree import path
from polysched.schedule.core.program import (
    find_loop,
    largest_extent,
    one_iteration,
    prefix_function,
    prefix_loops,
    prefix_map,
)
from polysched.schedule.schedule import Schedule
from tests.support import kernels


@pytest.mark.parametrize(
    ("schedule", "loop", "extent"),
    [
        (Schedule(kernels.grid(7, 5)), "j", 5),
        (Schedule(kernels.grid(7, triangular=True)), "j", 7),
        (Schedule(kernels.grid(7, 5)).split("i", 4), "ii", 4),
        (Schedule(kernels.grid(7, 5)).divide("i", 3), "i", 3),
        (Schedule(kernels.grid(10, 5)).divide("i", 4, 3), "i", 3),
        (Schedule(kernels.grid(7, 5)).skew("j", by="i"), "j", 5),
        (Schedule(kernels.grid()).split("i", 4), "ii", 4),
        (Schedule(kernels.grid()), "i", None),
    ],
    ids=str,
)
def test_the_longest_run_of_a_loop(schedule: Schedule, loop: str, extent: int | None) -> None:
    program = schedule.program
    assert largest_extent(program, find_loop(program, loop)) == extent


def test_one_iteration() -> None:
    program = Schedule(kernels.grid(7, 5)).split("i", 4).program
    statement = program.statements["S"]
    around = prefix_loops(program, find_loop(program, "io"))
    among = isl.Set("{ S[i, j] : i = 5 and j = 2 }")
    found = one_iteration(statement, among, around)
    assert found is not None
    assert found.is_equal(isl.Set("{ S[i, j] : 4 <= i <= 6 and 0 <= j <= 4 }"))
    assert one_iteration(statement, among.subtract(among), around) is None


def test_one_iteration_is_of_one_size() -> None:
    program = Schedule(kernels.grid()).program
    statement = program.statements["S"]
    found = one_iteration(statement, statement.domain, path(program.tree, "S")[:1])
    assert found is not None
    assert found.params().is_singleton()


def test_a_function_of_the_loops_around() -> None:
    program = Schedule(kernels.grid(7, 5)).split("i", 4).program
    statement, around = program.statements["S"], path(program.tree, "S")
    found = isl.Map.from_pw_multi_aff(prefix_function(statement, around))
    assert found.is_equal(prefix_map(statement, around, []))
