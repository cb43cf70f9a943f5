"""Schedule the regions of a C file that generated functions replace."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from polysched.autoscheduler.gaining_sizes import gaining_sizes
from polysched.cli.targets.schedule_file import Reading, no_gain, with_floating_point
from polysched.errors import PolyschedError, ScheduleError
from polysched.frontends.scop.regions import Refusal, Replacement, parts_of
from polysched.ir.isl.budget import time_budget
from polysched.llvm.export.c_interface import ExportedProgram
from polysched.lower import proved, unscheduled_variant
from polysched.machine.description import Machine
from polysched.schedule.notation.file import apply_file
from polysched.schedule.schedule import Schedule

_LEAST_SECONDS = 0.5
"""Time limit of a region whose function has no time left: a simple one is proved in it."""


class NoGainError(ScheduleError):
    """No schedule of a region is predicted to be faster than the region as written."""


def proved_regions(
    candidates: list[Replacement], refused: list[Refusal], reading: Reading, machine: Machine
) -> tuple[list[Replacement], list[ExportedProgram]]:
    """Generate the loops of the regions; those that are not proved correct are refused.

    Regions inside a whole function take its place. Searches for the regions of a function share its
    time limit; regions of other functions have their own.
    """
    spent: dict[str, float] = {}
    replaced: list[Replacement] = []
    programs: list[ExportedProgram] = []
    reasons: set[tuple[str, str]] = set()
    left = [*candidates]
    while left:
        candidate = left.pop(0)
        name, limit, begin = candidate.program.region.name, reading.time_limit(), time.monotonic()
        try:
            passed = spent.get(name, 0) if reading.auto else 0
            with time_budget(limit and max(limit - passed, _LEAST_SECONDS)):
                programs.append(_scheduled(candidate, reading, machine))
        except PolyschedError as error:
            if reading.schedule_file is not None:
                raise
            region = candidate.program.region
            location = candidate.program.parsed.source_map.span(region.node)
            reason = str(error).partition("\n")[0]
            # A part of a function often fails for the reason of the whole: report it once.
            if (region.name, reason) not in reasons:
                is_slow = isinstance(error, NoGainError)
                refused.append(Refusal(region.name, location.error(reason), is_slow))
            reasons.add((region.name, reason))
            if region.is_function:
                parts, more = _parts(candidate, [other.symbol for other in (*replaced, *left)])
                left = [*parts, *left]
                refused += more
        else:
            replaced.append(candidate)
        finally:
            spent[name] = spent.get(name, 0) + time.monotonic() - begin
    return replaced, programs


def _parts(region: Replacement, taken: list[str]) -> tuple[list[Replacement], list[Refusal]]:
    program = region.program
    path = Path(program.parsed.source.path)
    return parts_of(program.parsed, program.region, path, taken, program.promises)


def file_text(path: Path) -> str:
    """Return the text of a C file with its line breaks."""
    return path.read_bytes().decode()


def _scheduled(region: Replacement, reading: Reading, machine: Machine) -> ExportedProgram:
    program = with_floating_point(region.program, reading)
    schedule = Schedule(program.kernel)
    unscheduled = None
    if reading.schedule_file is not None:
        schedule = apply_file(schedule, reading.schedule_file)
    if reading.auto:
        made = reading.optimized(schedule)
        if not made.decisions and reading.schedule_file is None:
            raise NoGainError(no_gain(schedule, reading))
        schedule, gains = made.schedule, gaining_sizes(made)
        if gains is not None:
            unscheduled = unscheduled_variant(schedule, gains)
    scheduled = replace(proved(schedule, machine, guard=False), name=region.symbol)
    return ExportedProgram(scheduled, unscheduled)
