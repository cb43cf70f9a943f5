"""``polysched check``: is the schedule legal, and if not, why not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from polysched.cli.failures import VERDICT_CODES
from polysched.cli.options import WrittenFile
from polysched.cli.schedule_file import Reading, load_scheduled_target, reading_options
from polysched.cli.terminal import output, print_answer, print_json
from polysched.codegen.fit import fit
from polysched.ir.budget import time_budget
from polysched.legality.answer import Answer, answer
from polysched.legality.check import DEFAULT_QUOTA
from polysched.legality.report import answer_as_json
from polysched.legality.sarif import as_sarif
from polysched.legality.verdict import VerdictKind
from polysched.lower import lower
from polysched.machine.description import Machine
from polysched.schedule.schedule import Schedule
from polysched.version import own_version

_WORST_FIRST = (VerdictKind.ILLEGAL, VerdictKind.UNKNOWN, VerdictKind.LEGAL)


@click.command("check")
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True)
@reading_options
@click.option(
    "--json",
    "as_record",
    is_flag=True,
    help="Print all of it as one JSON object; an array of them for several targets.",
)
@click.option(
    "--sarif",
    "sarif_file",
    metavar="FILE",
    type=WrittenFile(dir_okay=False, allow_dash=True),
    help="Write what is refused as a SARIF 2.1.0 log, for sites that host code. '-': print it "
    "instead of the text.",
)
@click.option(
    "--quota",
    type=click.IntRange(min=0),
    default=DEFAULT_QUOTA,
    show_default=True,
    help="Operations that isl may spend; 0 sets no limit.",
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

    Under the witness is a picture of the instances around it: left all of them, right the order in
    which the schedule runs them; equal numbers run at once.

    If an illegal schedule is legal for some values of the parameters, it says for which. It then
    looks, for about a second, for small changes that make it legal. Each that it prints after
    "try:" has been proved legal.

    With --machine, what a legal schedule asks of that machine's vectors and registers, and does not
    find there, is told too. It is advice: the code is right all the same, and the verdict is of the
    program alone.

    \b
    polysched check examples/conv2d_relu.py:tutorial
    polysched check my_kernel.py --json
    polysched check my_kernel.py:kernel --schedule tiled.sched
    polysched check kernels.py:small kernels.py:large --sarif polysched.sarif
    polysched check examples/conv2d_relu.py:tutorial --machine haswell-avx2

    \b
    Exit codes: 0 legal, 1 illegal, 2 bad input, 3 unknown (the proof took too long). Of
    several targets an illegal one counts before an unknown one.
    """
    if as_record and sarif_file == "-":
        raise click.UsageError("--json and --sarif - both print to the standard output; take one")
    answers = [_answer(target, reading, quota) for target in targets]
    if sarif_file is not None:
        log = json.dumps(as_sarif(answers, Path.cwd(), own_version()), indent=2)
        with click.open_file(sarif_file, "w", encoding="utf-8") as file:
            file.write(f"{log}\n")
    if as_record:
        records = [_record(one, reading.machine) for one in answers]
        print_json(records[0] if len(records) == 1 else records, indent=2)
    elif sarif_file != "-":
        for one in answers:
            print_answer(one, with_label=len(answers) > 1)
            if reading.machine is not None and one.verdict.is_legal:
                for line in _advice(one.schedule, reading.machine):
                    output().print(line)
    kinds = {one.verdict.kind for one in answers}
    worst = next(kind for kind in _WORST_FIRST if kind in kinds)
    context.exit(VERDICT_CODES[worst])


def _answer(target: str, reading: Reading, quota: int) -> Answer:
    with time_budget(reading.seconds):
        loaded = load_scheduled_target(target, reading)
        return answer(loaded.label, loaded.schedule, quota=quota)


def _record(one: Answer, machine: Machine | None) -> dict[str, Any]:
    """All that is said of a schedule; under ``machine`` how it fits the one that was named."""
    record = answer_as_json(one)
    if machine is None:
        return record
    found = fit(lower(one.schedule), machine) if one.verdict.is_legal else None
    told = {
        "name": machine.name,
        "registers_needed": None if found is None else found.registers,
        "advice": [] if found is None else list(found.lines()),
    }
    return {**record, "machine": told}


def _advice(schedule: Schedule, machine: Machine) -> list[str]:
    """How a legal schedule fits a machine, in lines."""
    found = fit(lower(schedule), machine)
    held = f"{found.registers} of {machine.vector_registers} vector registers hold what is kept"
    return [f"{machine.name}: {line}" for line in found.lines() or (f"it fits; {held}",)]
