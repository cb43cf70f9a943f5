from collections.abc import Mapping, Sequence

from polysched.legality.check import check
from polysched.plot.instances import instances
from polysched.plot.marks import Mark, marks
from polysched.schedule.schedule import Schedule
from tests.support.kernels import grid, prefix, seidel


def marked(
    schedule: Schedule,
    shown: Sequence[str],
    dimensions: Sequence[str],
    sizes: Mapping[str, int],
    at: Mapping[str, int] | None = None,
) -> tuple[tuple[Mark, ...], tuple[str, ...]]:
    program = schedule.program
    found = instances(program, shown, dimensions, at or {}, (), sizes)
    return marks(program, check(schedule).violation, found, sizes)


def test_none_of_a_legal_schedule() -> None:
    assert marked(Schedule(grid()), ("S",), ("i", "j"), {"n": 3, "m": 3}) == ((), ())


def test_source_and_sink() -> None:
    schedule = Schedule(seidel()).reorder("i", "s")
    assert marked(schedule, ("S",), ("s", "i"), {"t": 3, "n": 5}) == (
        (Mark("S", (0, 2), "S[0,2]"), Mark("S", (1, 1), "S[1,1]")),
        (),
    )


def test_sizes_at_which_it_is_no_witness() -> None:
    schedule = Schedule(seidel()).reorder("i", "s")
    assert marked(schedule, ("S",), ("s", "i"), {"t": 1, "n": 5}) == (
        (),
        ("the witness of the violation holds at t = 2, n = 4, not at these sizes",),
    )


def test_an_instance_that_is_not_shown() -> None:
    schedule = Schedule(seidel()).reorder("i", "s")
    assert marked(schedule, ("S",), ("i",), {"t": 3, "n": 5}, {"s": 1}) == (
        (Mark("S", (1,), "S[1,1]"),),
        ("S[0,2] of the witness is not in the picture",),
    )


def test_a_statement_that_is_not_shown() -> None:
    schedule = Schedule(prefix()).reverse("i")
    assert marked(schedule, ("first",), (), {"n": 5}) == (
        (),
        (
            "S[1] of the witness is not in the picture",
            "S[2] of the witness is not in the picture",
        ),
    )
