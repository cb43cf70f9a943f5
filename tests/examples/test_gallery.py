"""The gallery: each program is read, legal, and gives the bits that gcc's code gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from polysched.frontends.scop import load_c
from polysched.legality.check import check
from polysched.schedule.file import apply_file
from polysched.schedule.schedule import Schedule
from tests.frontends.scop.calling import (
    assert_same_bits,
    called,
    compiled_by_gcc,
    compiled_by_polysched,
    needs_gcc,
    random_arguments,
)

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"
SCHEDULES = sorted(path.name for path in GALLERY.glob("*.sched"))
PROGRAMS = sorted(path.stem for path in GALLERY.glob("*.c"))
LARGEST = (37, 9)
"""Of sizes: one where vectors and tiles are full, one where none is."""


def test_there_are_thirty() -> None:
    assert len(PROGRAMS) >= 30


def test_every_schedule_is_of_a_program() -> None:
    assert {path.stem for path in GALLERY.glob("*.sched")} <= set(PROGRAMS)
    assert len(SCHEDULES) >= 15


@needs_gcc
@pytest.mark.parametrize("name", [*PROGRAMS, *SCHEDULES])
def test_object_gives_the_bits_of_gcc(name: str, tmp_path: Path) -> None:
    """As written and as scheduled: no schedule of the gallery reorders a sum."""
    path = (GALLERY / name).with_suffix(".c")
    program = load_c(path)
    schedule = Schedule(program.kernel)
    if name.endswith(".sched"):
        schedule = apply_file(schedule, str(GALLERY / name))
    assert check(schedule).is_legal
    function = program.c_function()
    theirs = compiled_by_gcc(path, tmp_path)
    mine = compiled_by_polysched(schedule, function, tmp_path)
    for seed, largest in enumerate(LARGEST):
        # Sizes that differ, the first ones the largest.
        sizes = {one: largest - at for at, one in enumerate(program.kernel.parameters)}
        given = random_arguments(program, function, sizes, seed)
        assert_same_bits(called(mine, function, None, given), called(theirs, function, None, given))
