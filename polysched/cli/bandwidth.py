"""What races of work that moves bytes print, and with which exit code they end."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict

import click

from polysched.bench.bandwidth import Moved, Speedup, bandwidth_table
from polysched.bench.race import Withdrawn
from polysched.cli.failures import ExitCode
from polysched.cli.terminal import errors, print_error


def print_bandwidths(
    results: Sequence[Moved], found: Sequence[Speedup], *, as_records: bool
) -> None:
    """Print results and speedups, as JSON a line each or as a table and lines."""
    if as_records:
        for record in (*map(asdict, results), *map(asdict, found)):
            click.echo(json.dumps(record, allow_nan=False))
    elif results:
        click.echo(bandwidth_table(results))
        for one in found:
            click.echo(f"{one.work}: {one.ratio:.2f} times {one.peer}")


def end_race(
    context: click.Context, withdrawn: Sequence[Withdrawn], is_own: Callable[[str], bool]
) -> None:
    """Say who did not race; if one of polysched's own was wrong, end with that exit code.

    Args:
        is_own: whether a contestant's name is one of polysched's own.
    """
    for one in withdrawn:
        errors().print(f"not raced: {one.contestant} ({one.kernel}): {one.reason}")
    if any(one.is_wrong and is_own(one.contestant) for one in withdrawn):
        print_error("wrong output of polysched; this is a defect of polysched")
        context.exit(ExitCode.WRONG)
