"""``polysched bench calls``: the overhead of calling kernels and library functions."""

from __future__ import annotations

import click

from polysched.bench.calls import measure_calls
from polysched.cli.options import racing_machine_option
from polysched.cli.terminal import print_record, print_table, progress
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
            print_record(time)
    else:
        rows = ((time.call, f"{time.nanoseconds / 1e3:.2f} µs") for time in times)
        print_table(("call", "time"), rows)
