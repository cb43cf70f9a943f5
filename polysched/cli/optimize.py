"""``polysched optimize``: find a schedule, prove it, write it to a file, and explain it."""

from __future__ import annotations

from pathlib import Path

import click

from polysched.autoscheduler.driver import Optimized
from polysched.autoscheduler.report import report_of, schedule_text
from polysched.cli.completion import files
from polysched.cli.inputs import sizes_option
from polysched.cli.options import WrittenFile
from polysched.cli.targets.schedule_file import (
    Reading,
    load_scheduled_target,
    reading_options,
    threads_option,
)
from polysched.cli.terminal import output, print_json, progress
from polysched.errors import ScheduleError
from polysched.ir.isl.budget import time_budget


@click.command("optimize")
@click.argument("target", shell_complete=files)
@reading_options
@click.option(
    "-o",
    "--output",
    "file",
    type=WrittenFile(path_type=Path),
    metavar="FILE",
    help="Write the schedule to FILE, which --schedule reads, with the reasons in comments.",
)
@threads_option("The number of threads that the code may use.  [default: 1]")
@sizes_option(
    "The value of a parameter for which to predict costs; may be repeated. The schedule is legal "
    "for all values."
)
@click.option("--json", "as_record", is_flag=True, help="Print the report as a JSON object.")
def optimize_command(
    target: str, reading: Reading, file: Path | None, sizes: dict[str, int], as_record: bool
) -> None:
    """Find a fast schedule, prove it legal, and explain it.

    The steps of TARGET's schedule, and of --schedule FILE, are kept and continued. Nothing is
    timed: a model of the machine predicts costs, so the same input gives the same schedule. The
    report says for each loop what was done and why, or what stands in the way.

    \b
    polysched optimize gemm.c --fast-math -o gemm.sched
    polysched optimize my_kernel.py:kernel --size n=4000
    polysched run gemm.c --fast-math --schedule gemm.sched

    \b
    Exit codes: 0 success, 1 the given schedule is illegal, 2 bad input, 3 legality unknown.
    """
    with progress() as tell, time_budget(reading.time_limit(searches=True)):
        loaded = load_scheduled_target(target, reading, uses_threads=True)
        made = reading.optimized(loaded.schedule, sizes=sizes, tell=tell)
        report = report_of(made.schedule, made.machine, made.sizes, made)
    if file is not None:
        _write(file, made)
    if as_record:
        print_json(report.as_json(), indent=2)
        return
    output().print(str(report))
    if file is not None:
        output().print(f"\n{file}: {len(made.schedule.steps)} steps")


def _write(file: Path, made: Optimized) -> None:
    try:
        file.write_text(schedule_text(made.schedule, made), encoding="utf-8")
    except OSError as error:
        raise ScheduleError(f"cannot write '{file}': {error.strerror}") from error
