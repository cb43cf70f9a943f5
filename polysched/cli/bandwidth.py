"""Output and exit codes of the memory-bandwidth benchmarks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict

import click

from polysched.bench.bandwidth import Moved, bandwidth_table
from polysched.bench.race import Withdrawn
from polysched.bench.speedup import Speedup
from polysched.cli.failures import ExitCode
from polysched.cli.terminal import errors, print_error


def print_bandwidths(
    results: Sequence[Moved], speedups: Sequence[Speedup], *, as_records: bool
) -> None:
    """Print results and speedups: as JSON lines, or as a table and a line for each speedup."""
    if as_records:
        for record in (*map(asdict, results), *map(asdict, speedups)):
            click.echo(json.dumps(record, allow_nan=False))
    elif results:
        click.echo(bandwidth_table(results))
        for speedup in speedups:
            click.echo(f"{speedup.work}: {speedup.ratio:.2f} times {speedup.over}")


def end_race(
    context: click.Context, withdrawn: Sequence[Withdrawn], is_own: Callable[[str], bool]
) -> None:
    """Report the contestants that were not timed; exit with an error if polysched was wrong.

    Args:
        context: the context of the command.
        withdrawn: the contestants that were not timed.
        is_own: whether a contestant's name is a name of polysched's kernels.
    """
    for entry in withdrawn:
        errors().print(f"not raced: {entry.contestant} ({entry.kernel}): {entry.reason}")
    names = [name for entry in withdrawn if entry.is_wrong and is_own(name := entry.contestant)]
    if names:
        wrong = " and ".join(dict.fromkeys(names))
        print_error(f"wrong output of {wrong}; this is a defect of polysched")
        context.exit(ExitCode.WRONG)
