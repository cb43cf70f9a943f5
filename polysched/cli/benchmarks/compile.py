"""``polysched bench compile``."""

from __future__ import annotations

import click

from polysched.bench.compile_time import measure_delays
from polysched.cli.options import racing_machine_option
from polysched.cli.terminal import print_record, print_table, progress
from polysched.machine.description import Machine


@click.command("compile")
@click.option("--json", "as_records", is_flag=True, help="Print a JSON line for each measurement.")
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Number of new processes for each measurement.",
)
@racing_machine_option
def compile_command(as_records: bool, runs: int, machine: Machine | None) -> None:
    """Time 'import polysched', and compiling a convolution from its declaration to a callable.

    Nothing is cached: each measurement runs in a new process. The command prints the medians.

    \b
    polysched bench compile
    polysched bench compile --runs 11 --json
    """
    with progress() as tell:
        delays = measure_delays(runs, machine=machine, progress=tell)
    if as_records:
        for delay in delays:
            print_record(delay)
    else:
        rows = ((delay.what, f"{delay.seconds * 1e3:.0f} ms", str(delay.runs)) for delay in delays)
        print_table(("delay", "median", "processes"), rows)
