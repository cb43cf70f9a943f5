"""``polysched bench calls``: the overhead of calling kernels and library functions."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from polysched.bench.calls import CallTime, measure_calls
from polysched.cli.options import racing_machine_option
from polysched.cli.terminal import output, progress
from polysched.machine.description import Machine


@click.command("calls")
@click.option("--json", "as_records", is_flag=True, help="Print a JSON line for each measurement.")
@click.option(
    "--bursts",
    type=click.IntRange(min=1),
    default=2000,
    show_default=True,
    help="Number of timed bursts of 50 calls; the fastest burst counts.",
)
@racing_machine_option
def calls(as_records: bool, bursts: int, machine: Machine | None) -> None:
    """Time warm calls that compute next to nothing: the overhead of a call.

    The kernel adds two arrays of 16 elements, the library's functions take matrices of 16 x 16.
    The same calls of numpy are for comparison.

    \b
    polysched bench calls
    polysched bench calls --bursts 500 --json
    """
    with progress() as tell:
        times = measure_calls(bursts, machine=machine, progress=tell)
    if as_records:
        for time in times:
            click.echo(time.as_json())
    else:
        output().print(_table(times), soft_wrap=False)


def _table(times: Sequence[CallTime]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("call")
    table.add_column("time", justify="right")
    for time in times:
        table.add_row(time.call, f"{time.nanoseconds / 1e3:.2f} µs")
    return table
