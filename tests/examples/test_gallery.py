"""The gallery: each program is read, legal, and gives the bits that gcc's code gives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from ctypes import CDLL
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polysched.errors import ScheduleError
from polysched.frontends.scop import CProgram, load_c
from polysched.legality.check import check
from polysched.schedule.notation.file import apply_file
from polysched.schedule.schedule import Schedule
from tests.frontends.scop.calling import (
    assert_same_bits,
    called,
    compiled_by_gcc,
    compiled_by_polysched,
    needs_gcc,
    random_arguments,
)
from tests.support.effort import EFFORT, sampled

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"
SCHEDULES = sorted(path.name for path in GALLERY.glob("*.sched"))
PROGRAMS = sorted(path.stem for path in GALLERY.glob("*.c"))
LIKE_OTHERS = """
    adi.sched atax.sched bicg.sched correlation.sched covariance.sched doitgen.sched fdtd_2d.sched
    gramschmidt.sched heat_3d.sched jacobi_1d.sched jacobi_3d.sched lu.sched lu_solve.sched
    mvt.sched symm.sched syr2k.sched syrk.sched three_mm.sched trisolv.sched trmm.sched two_mm.sched
""".split()
"""Schedules with the primitives of another one: only proved, and compiled if there is time."""
COMPILED = sorted({*SCHEDULES} - {*LIKE_OTHERS})
AS_WRITTEN = sampled([name for name in PROGRAMS if f"{name}.sched" not in COMPILED], 4)
"""Programs that are compiled as written too."""
LARGEST = (37, 9)
"""Of sizes: one where vectors and tiles are full, one where none is."""
TOLERANCE = 1e-9
"""Of the largest magnitude in an array, where a schedule combines sums in another order."""


def test_there_are_thirty() -> None:
    assert len(PROGRAMS) >= 30


def test_every_schedule_is_of_a_program() -> None:
    assert {path.stem for path in GALLERY.glob("*.sched")} <= set(PROGRAMS)
    assert len(SCHEDULES) >= 15


@functools.cache
def loaded(path: Path) -> tuple[CProgram, Schedule]:
    """A program as written; read once, so that its dependences are analyzed once."""
    program = load_c(path)
    return program, Schedule(program.kernel)


def scheduled(path: Path) -> tuple[Schedule, bool]:
    """A program with its steps, and whether it keeps the order of all sums.

    A schedule that does not keep it says so, since a person has to allow it with ``--fast-math``.
    """
    program, written = loaded(path.with_suffix(".c"))
    try:
        schedule = apply_file(written, path)
        keeps_order = check(schedule).is_legal
    except ScheduleError:
        keeps_order = False
    assert keeps_order != ("--fast-math" in path.read_text()), "says whether it reorders sums"
    if not keeps_order:
        schedule = apply_file(Schedule(program.with_fast_math().kernel), path)
        assert check(schedule).is_legal
    return schedule, keeps_order


@pytest.mark.parametrize("name", LIKE_OTHERS)
def test_schedule_is_legal(name: str) -> None:
    scheduled(GALLERY / name)


@pytest.fixture(scope="module")
def by_gcc(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], CDLL]:
    """Compile a program by gcc, once for the program as written and its schedule."""
    folder = tmp_path_factory.mktemp("gcc")
    return functools.cache(lambda path: compiled_by_gcc(path, folder))


@needs_gcc
@pytest.mark.parametrize(
    "name", sorted([*PROGRAMS, *SCHEDULES] if EFFORT > 1 else [*AS_WRITTEN, *COMPILED])
)
def test_object_gives_the_results_of_gcc(
    name: str, by_gcc: Callable[[Path], CDLL], tmp_path: Path
) -> None:
    """As written and as scheduled: the same bits, unless the schedule reorders a sum."""
    path = (GALLERY / name).with_suffix(".c")
    program, written = loaded(path)
    schedule, keeps_order = (
        scheduled(GALLERY / name) if name.endswith(".sched") else (written, True)
    )
    assert check(schedule).is_legal
    function = program.c_function()
    theirs = by_gcc(path)
    mine = compiled_by_polysched(schedule, function, tmp_path)
    for seed, largest in enumerate(LARGEST):
        # Sizes that differ, the first ones the largest.
        sizes = {one: largest - at for at, one in enumerate(program.kernel.parameters)}
        given = random_arguments(program, function, sizes, seed)
        found, expected = called(mine, function, None, given), called(theirs, function, None, given)
        if keeps_order:
            assert_same_bits(found, expected)
        else:
            assert_close(found, expected)


def assert_close(found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Arrays that differ by rounding alone."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, np.ndarray):
            allowed = TOLERANCE * np.abs(value).max(initial=0)
            np.testing.assert_allclose(found[name], value, rtol=0, atol=allowed, err_msg=name)
