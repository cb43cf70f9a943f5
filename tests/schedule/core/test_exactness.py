"""Steps that need to know which elements are touched, on arrays where only the data tells."""

from collections.abc import Callable

import pytest

from polysched.errors import ScheduleError
from polysched.legality.check import check
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees
from tests.support.indirect import gather, histogram, nested, permutation, through_a_temporary

NO_BUFFER = r"array '{}' cannot have a buffer at loop '.*': statement '{}' accesses {}, and {} is "


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            lambda: Schedule(gather()).pack("x", "i"),
            NO_BUFFER.format("x", "y", r"x\[idx\[i\] \+ 1\]", r"idx\[i\]"),
        ),
        (
            lambda: Schedule(histogram()).promote("h", "i"),
            NO_BUFFER.format("h", "H", r"h\[idx\[i\]\]", r"idx\[i\]"),
        ),
        (
            lambda: Schedule(permutation()).promote("y", "i", lanes=4),
            NO_BUFFER.format("y", "P", r"y\[p\[i\]\]", r"p\[i\]"),
        ),
        (
            lambda: Schedule(nested()).pack("first", "i"),
            NO_BUFFER.format("first", "y", r"first\[second\[i\]\]", r"second\[i\]"),
        ),
        (
            lambda: Schedule(through_a_temporary()).privatize("t", "i"),
            NO_BUFFER.format("t", "Y", r"t\[idx\[i\]\]", r"idx\[i\]"),
        ),
        (
            lambda: Schedule(through_a_temporary()).compute_at("T", "i", recompute=True),
            NO_BUFFER.format("t", "Y", r"t\[idx\[i\]\]", r"idx\[i\]"),
        ),
        (
            lambda: Schedule(through_a_temporary()).fold_storage("t", "d0", 2),
            "a subscript of array 't' depends on data",
        ),
    ],
)
def test_no_buffer_for_what_only_the_data_tells(step: Callable[[], Schedule], message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        step()


def test_the_message_says_what_can_be_done() -> None:
    with pytest.raises(
        ScheduleError, match="buffers take arrays with affine subscripts, 'idx' for example"
    ):
        Schedule(gather()).pack("x", "i")


def test_index_arrays_of_the_target_go_to_a_buffer_too() -> None:
    schedule = Schedule(permutation()).split("i", 4).pack("p", "io")
    statement = schedule.program.statements["P"]
    assert [access.array for access in statement.accesses] == ["y", "x", "p_packed"]
    assert check(schedule).is_legal
    assert_agrees(schedule, {"n": 1}, {"n": 10})


def test_all_of_a_producer_runs_before_the_first_iteration_that_may_need_it() -> None:
    schedule = Schedule(through_a_temporary()).compute_at("T", "i")
    assert_agrees(schedule, {"n": 1, "m": 1}, {"n": 5, "m": 9})
