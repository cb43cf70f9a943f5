import re

import pytest

from polysched.errors import ScheduleError
from polysched.schedule.history import loop_history
from polysched.schedule.schedule import Schedule
from tests.support import kernels


def history(schedule: Schedule, reference: str) -> str | None:
    found = loop_history(reference, schedule.steps, schedule.locations, schedule.programs)
    return None if found is None else re.sub(r", at [^ ]*:\d+", "", found)


def grid(rows: int | None = None, columns: int | None = None) -> Schedule:
    return Schedule(kernels.grid(rows, columns))


def chain() -> Schedule:
    return Schedule(kernels.chain())


@pytest.mark.parametrize(
    ("schedule", "reference", "expected"),
    [
        (
            grid().split("i", 4),
            "i",
            ": step 1, split(loop='i', factor=4), replaced it by 'io', 'ii'",
        ),
        (
            grid().split("i", 4).split("io", 2),
            "i",
            ": step 1, split(loop='i', factor=4), replaced it by 'io', 'ii', later by 'ioo', "
            "'ioi', 'ii'",
        ),
        (
            grid().split("i", 4).split("io", 2),
            "S.io",
            ": step 2, split(loop='io', factor=2), replaced it by 'ioo', 'ioi'",
        ),
        (
            grid().tile(("i", "j"), (4, 8)),
            "j",
            ": step 1, tile(loops=('i', 'j'), factors=(4, 8)), replaced it by 'io', 'jo', 'ii', "
            "'ji'",
        ),
        (
            grid(4, 8).collapse("i", "j", "q"),
            "j",
            ": step 1, collapse(outer='i', inner='j', into='q'), replaced it by 'q'",
        ),
        (
            grid().skew("j", "i", into="k"),
            "j",
            ": step 1, skew(loop='j', by='i', into='k'), replaced it by 'k'",
        ),
        (
            grid().unroll("j", factor=4),
            "j",
            ": step 1, unroll(loop='j', factor=4), replaced it by 'jo', 'ji'",
        ),
        (
            chain().fuse("P.i", "C.i", "k"),
            "C.i",
            ": step 1, fuse(first='P.i', second='C.i', into='k'), replaced it by 'k'",
        ),
        (
            chain().compute_at("P", "C.i").reverse("C.i"),
            "P.i",
            None,
        ),
        (
            grid().reverse("i").vectorize("j", 8).split("i", 4),
            "jv",
            ", by step 2, vectorize(loop='j', lanes=8); split it before that step",
        ),
        (
            grid(None, 8).parallel("i").unroll("j"),
            "j",
            ", by step 2, unroll(loop='j'); split it before that step",
        ),
        (grid().split("i", 4), "k", None),
        (grid().split("i", 4), "T.i", None),
        (grid().split("i", 4), "j", None),
        (chain().parallel("P.i"), "i", None),
    ],
)
def test_what_became_of_a_loop(schedule: Schedule, reference: str, expected: str | None) -> None:
    assert history(schedule, reference) == expected


def test_the_message_names_the_line() -> None:
    schedule = grid().split("i", 4)  # this line
    with pytest.raises(
        ScheduleError,
        match=r"^reverse\(loop='i'\): no loop 'i': step 1, .*test_history.py:\d+, repl",
    ):
        schedule.reverse("i")
