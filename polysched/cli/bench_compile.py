"""``polysched bench compile``."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from polysched.bench.compile_time import Delay, measure_delays
from polysched.cli.options import racing_machine_option
from polysched.cli.terminal import output, progress
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
            click.echo(delay.as_json())
    else:
        output().print(_delays_table(delays), soft_wrap=False)


def _delays_table(delays: Sequence[Delay]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("delay")
    table.add_column("median", justify="right")
    table.add_column("processes", justify="right")
    for delay in delays:
        table.add_row(delay.what, f"{delay.seconds * 1e3:.0f} ms", str(delay.runs))
    return table
