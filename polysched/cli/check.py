"""``polysched check``: prove a schedule legal, or show a witness."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from polysched.autoscheduler.slowdown import slowdown
from polysched.cli.compile_regions import scheduled_regions
from polysched.cli.completion import files
from polysched.cli.failures import VERDICT_CODES
from polysched.cli.options import WrittenFile
from polysched.cli.targets.c_target import is_c_target
from polysched.cli.targets.schedule_file import (
    Reading,
    auto_option,
    load_scheduled_target,
    reading_options,
    with_floating_point,
)
from polysched.cli.terminal import output, print_answer, print_json
from polysched.errors import FrontendError, PolyschedError
from polysched.frontends.scop.regions import Replacement
from polysched.inspect.fit import fit
from polysched.ir.isl.budget import time_budget
from polysched.legality.check import DEFAULT_QUOTA
from polysched.legality.reports.answer import Answer, answer
from polysched.legality.reports.report import answer_as_json
from polysched.legality.reports.sarif import as_sarif
from polysched.legality.verdicts.verdict import VerdictKind
from polysched.llvm.export.c_interface import ExportedProgram, emit_exported_module
from polysched.lower import limited_loops, lower
from polysched.machine.cpuid import checkable
from polysched.machine.description import Machine
from polysched.machine.load import as_machine
from polysched.runtime.c_interface import require_c_names
from polysched.runtime.signature import signature_of
from polysched.schedule.schedule import Schedule
from polysched.version import own_version

_WORST_FIRST = (VerdictKind.ILLEGAL, VerdictKind.UNKNOWN, VerdictKind.LEGAL)


@click.command("check")
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True, shell_complete=files)
@reading_options
@auto_option
@click.option(
    "--json",
    "as_record",
    is_flag=True,
    help="Print the answer as a JSON object; for several targets an array of objects.",
)
@click.option(
    "--sarif",
    "sarif_file",
    metavar="FILE",
    type=WrittenFile(dir_okay=False, allow_dash=True),
    help="Write the schedules that are not legal as a SARIF 2.1.0 log, which code hosts display. "
    "'-' prints it instead of the text.",
)
@click.option(
    "--quota",
    type=click.IntRange(min=0),
    default=DEFAULT_QUOTA,
    show_default=True,
    help="Limit on isl's operations; 0 sets no limit.",
)
@click.pass_context
def check_command(
    context: click.Context,
    targets: tuple[str, ...],
    reading: Reading,
    as_record: bool,
    sarif_file: str | None,
    quota: int,
) -> None:
    """Prove a schedule legal, or show two instances that it runs in the wrong order.

    Below the witness is a picture of the instances around it: on the left the instances, on the
    right the order in which the schedule runs them. Instances with equal numbers run at once.

    If an illegal schedule is legal for some values of the parameters, the command prints the
    condition. It then searches, for about a second, for small changes that make the schedule legal.
    Each change printed after "try:" has been proved legal.

    A legal schedule that 'polysched compile' would refuse, because no code can be generated for it,
    or that is predicted to be far slower than the program as written, gets a warning.

    A C function that has no translation as a whole is checked loop by loop, as 'polysched compile'
    compiles it.

    With --machine, the command also prints where a legal schedule needs wider vectors or more
    registers than that machine has. This is advice only: the code is correct anyway, and the
    verdict does not depend on the machine.

    \b
    polysched check examples/conv2d_relu.py:tutorial
    polysched check my_kernel.py --json
    polysched check my_kernel.py:kernel --schedule tiled.sched
    polysched check kernels.py:small kernels.py:large --sarif polysched.sarif
    polysched check examples/conv2d_relu.py:tutorial --machine haswell-avx2

    \b
    Exit codes: 0 legal, 1 illegal, 2 bad input, 3 unknown (the proof took too long). For
    several targets: 1 if any is illegal, else 3 if any is unknown.
    """
    if as_record and sarif_file == "-":
        raise click.UsageError("--json and --sarif - both print to the standard output; use one")
    answers, notes, named_in_c = [], [], []
    for target in targets:
        for answered, lines in _answers(target, reading, quota):
            answers.append(answered)
            notes.append(lines)
            named_in_c.append(is_c_target(target))
    if sarif_file is not None:
        log = json.dumps(as_sarif(answers, Path.cwd(), own_version()), indent=2)
        with click.open_file(sarif_file, "w", encoding="utf-8") as file:
            file.write(f"{log}\n")
    if as_record:
        records = [
            {
                **_record(answered, reading.machine),
                **({"notes": lines} if lines else {}),
                **({"warnings": warned} if (warned := _warnings(answered, reading, in_c)) else {}),
            }
            for answered, lines, in_c in zip(answers, notes, named_in_c, strict=True)
        ]
        print_json(records[0] if len(records) == 1 else records, indent=2)
    elif sarif_file != "-":
        for answered, lines, in_c in zip(answers, notes, named_in_c, strict=True):
            print_answer(answered, with_label=len(answers) > 1)
            for line in lines:
                output().print(line, highlight=False)
            for line in _warnings(answered, reading, in_c):
                output().print(line)
            if reading.machine is not None and answered.verdict.is_legal:
                for line in _advice(answered.schedule, reading.machine):
                    output().print(line)
    kinds = {answered.verdict.kind for answered in answers}
    worst = next(kind for kind in _WORST_FIRST if kind in kinds)
    context.exit(VERDICT_CODES[worst])


def _answers(target: str, reading: Reading, quota: int) -> list[tuple[Answer, list[str]]]:
    """The answer for a target, and the promises that the kernel of a C file relies on.

    A C function without a translation as a whole has an answer for each loop that has one.
    """
    try:
        with time_budget(reading.time_limit()):
            loaded = load_scheduled_target(target, reading, takes_parts=True)
            notes = [] if loaded.program is None else loaded.program.notes()
            return [(answer(loaded.label, loaded.schedule, quota=quota), notes)]
    except FrontendError as error:
        if not is_c_target(target):
            raise
        return _region_answers(target, reading, quota, error)


def _record(answered: Answer, machine: Machine | None) -> dict[str, Any]:
    """The JSON record of an answer; the key ``machine`` says how the schedule fits a machine."""
    record = answer_as_json(answered)
    if machine is None:
        return record
    result = fit(lower(answered.schedule), machine) if answered.verdict.is_legal else None
    machine_record = {
        "name": machine.name,
        "registers_needed": None if result is None else result.registers,
        "advice": [] if result is None else list(result.lines()),
    }
    return {**record, "machine": machine_record}


def _advice(schedule: Schedule, machine: Machine) -> list[str]:
    """Explain in lines how a legal schedule fits a machine."""
    result = fit(lower(schedule), machine)
    held = f"{result.registers} of {machine.vector_registers} vector registers hold what is kept"
    return [f"{machine.name}: {line}" for line in result.lines() or (f"it fits; {held}",)]


def _warnings(answered: Answer, reading: Reading, in_c: bool) -> list[str]:
    """Warnings about a legal schedule: it is refused by ``compile``, or predicted to be slow.

    Names of a C file (`in_c`) are names of C.
    """
    if not answered.verdict.is_legal:
        return []
    machine = as_machine(reading.machine)
    try:
        with time_budget(reading.time_limit()):
            exported = ExportedProgram(limited_loops(answered.schedule))
            emit_exported_module(exported, checkable(machine))
            if not in_c:
                require_c_names(signature_of(answered.schedule.kernel))
    except PolyschedError as error:
        return [f"warning: 'polysched compile' refuses it: {error}"]
    slow = slowdown(answered.schedule, machine)
    return [] if slow is None else [f"warning: {slow}"]


def _region_answers(
    target: str, reading: Reading, quota: int, refused: PolyschedError
) -> list[tuple[Answer, list[str]]]:
    """Return the answer for each loop that ``polysched compile`` schedules, and its promises.

    Args:
        refused: why the function has no translation as a whole.

    Raises:
        PolyschedError: the error `refused`, if no loop of the function has a translation.
    """
    written = replace(reading, auto=False)  # `_answer` finds the schedules
    function, regions, _ = scheduled_regions(target, written, as_machine(reading.machine), refused)
    if not regions:
        raise refused
    answers = [_answer(function, region, reading, quota) for region in regions]
    rest = f"the C compiler compiles the rest of '{function}': {str(refused).splitlines()[0]}"
    answers[-1][1].append(rest)
    return answers


def _answer(
    function: str, replacement: Replacement, reading: Reading, quota: int
) -> tuple[Answer, list[str]]:
    program = with_floating_point(replacement.program, reading)
    source_map = program.parsed.source_map
    line = source_map.location(program.region.node).line
    label = f"{Path(program.parsed.source.path)}:{function}, from line {line}"
    with time_budget(reading.time_limit()):
        schedule = Schedule(program.kernel)
        if reading.auto:
            schedule = reading.optimized(schedule).schedule
        return answer(label, schedule, quota=quota), program.notes()
