from collections import Counter
from collections.abc import Callable

import islpy as isl
import pytest

from polysched.errors import ScheduleError
from polysched.ir.core.tree import path
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import assert_agrees
from tests.support.showing import before_and_after


def lengths(schedule: Schedule) -> list[int]:
    """How many instances of the one statement each part has, the parts in order."""
    (statement,) = schedule.program.statements.values()
    part = path(schedule.program.tree, statement.name)[0].values[statement.name]
    points: list[isl.Point] = []
    statement.domain.foreach_point(points.append)
    counts = Counter(part.eval(point).to_python() for point in points)
    return [counts[number] for number in sorted(counts)]


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(kernels.scale(10)).divide("i", 4)
    check_golden("schedule/divide.txt", before_and_after(schedule))


@pytest.mark.parametrize(
    ("length", "parts", "unit", "expected"),
    [
        (10, 4, 1, [3, 2, 3, 2]),
        (12, 4, 1, [3, 3, 3, 3]),
        (77, 4, 8, [24, 16, 24, 13]),
        (5, 3, 2, [2, 2, 1]),
        (7, 1, 3, [7]),
        (3, 8, 1, [1, 1, 1]),
    ],
)
def test_parts_are_even(length: int, parts: int, unit: int, expected: list[int]) -> None:
    assert lengths(Schedule(kernels.scale(length)).divide("i", parts, unit)) == expected


@pytest.mark.parametrize("length", [1, 4, 7, 8, 9])
@pytest.mark.parametrize("parts", [1, 2, 3, 5])
def test_rectangular(length: int, parts: int) -> None:
    assert_agrees(Schedule(kernels.grid(length, 5)).divide("i", parts).divide("j", 2, 2))


def test_triangular() -> None:
    assert_agrees(Schedule(kernels.grid(9, triangular=True)).divide("j", 3, into="part"))


def test_a_loop_that_does_not_start_at_0() -> None:
    schedule = Schedule(kernels.scale(10)).shift("i", -4).divide("i", 3)
    assert lengths(schedule) == [4, 3, 3]
    assert_agrees(schedule)


def test_a_part_taken_apart() -> None:
    schedule = Schedule(kernels.scale(77)).divide("i", 4, 8).split("i", 8)
    assert_agrees(schedule)
    assert_agrees(schedule.vectorize("ii", 8).parallel("ip"))


def test_several_statements_in_one_loop() -> None:
    assert_agrees(Schedule(kernels.triangular_solve(9)).divide("i", 4))


def test_the_name_of_the_parts() -> None:
    schedule = Schedule(kernels.scale(10)).divide("i", 4, into="mine")
    assert [loop.name for loop in path(schedule.program.tree, "S")] == ["mine", "i"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("i", 0), "the number of parts of divide('i') is 0; expected a positive integer"),
        (("i", 2, 0), "the unit of divide('i') is 0; expected a positive integer"),
        (("i", 2, 1, "i"), "loop name 'i' is taken around statement 'S'"),
        (("k", 2), "no loop 'k'"),
    ],
)
def test_errors(arguments: tuple, message: str) -> None:
    with pytest.raises(ScheduleError) as error:
        Schedule(kernels.scale(10)).divide(*arguments)
    assert message in str(error.value)


def test_a_loop_of_unknown_length() -> None:
    with pytest.raises(
        ScheduleError, match="cannot be divided into 4 parts: its first or last value"
    ):
        Schedule(kernels.scale()).divide("i", 4)
