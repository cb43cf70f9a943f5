"""Answer for the loops of a C function that has no translation as a whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from polysched.autoscheduler.driver import optimize_schedule
from polysched.cli.compile_regions import scheduled_regions
from polysched.cli.schedule_file import Reading, with_floating_point
from polysched.errors import PolyschedError
from polysched.frontends.scop.regions import Replacement
from polysched.ir.isl.budget import time_budget
from polysched.legality.reports.answer import Answer, answer
from polysched.machine.load import as_machine
from polysched.schedule.schedule import Schedule


def region_answers(
    target: str, reading: Reading, quota: int, refused: PolyschedError
) -> list[tuple[Answer, list[str]]]:
    """Return the answer for each loop that ``polysched compile`` schedules, and its promises.

    Args:
        target: ``FILE.c`` or ``FILE.c:FUNCTION``.
        reading: the options.
        quota: the limit on isl's operations.
        refused: why the function has no translation as a whole.

    Raises:
        PolyschedError: the error `refused`, if no loop of the function has a translation.
    """
    written = replace(reading, auto=False)  # `_answer` finds the schedules
    function, regions, _ = scheduled_regions(target, written, as_machine(reading.machine), refused)
    answers = [_answer(function, region, reading, quota) for region in regions]
    rest = f"the C compiler compiles the rest of '{function}': {str(refused).splitlines()[0]}"
    answers[-1][1].append(rest)
    return answers


def _answer(
    function: str, one: Replacement, reading: Reading, quota: int
) -> tuple[Answer, list[str]]:
    program = with_floating_point(one.program, reading)
    source_map = program.parsed.source_map
    line = source_map.location(program.region.node).line
    label = f"{Path(program.parsed.source.path)}:{function}, from line {line}"
    with time_budget(reading.time_limit()):
        schedule = Schedule(program.kernel)
        if reading.auto:
            machine = as_machine(reading.machine)
            threads = reading.threads or 1
            schedule = optimize_schedule(schedule, machine, threads=threads).schedule
        return answer(label, schedule, quota=quota), program.notes()
