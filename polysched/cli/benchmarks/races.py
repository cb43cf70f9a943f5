"""Run the races of a benchmark, and print their outcome as a Markdown table or as records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from types import MappingProxyType

import click

from polysched.bench.measure.peers import PeerKernels
from polysched.bench.measure.race import Outcome, Result, Withdrawn, Work, joined, race
from polysched.bench.measure.speedup import OWN, Speedup, geometric_mean
from polysched.cli.failures import ExitCode
from polysched.cli.options import Racing
from polysched.cli.terminal import errors, print_error, print_record, progress
from polysched.machine.detect import detect_host

_RATES = MappingProxyType(
    {"flop": ("of peak", "GFLOP/s", "peak GFLOP/s"), "byte": ("of a copy", "GB/s", "copy GB/s")}
)
_IS_NUMBER = (False, False, True, True, True, True, True)


def run_races(works: Iterable[Work], racing: Racing) -> Outcome:
    """Run the races one after the other; the data of each is made when its race begins."""
    with progress() as tell:
        return joined(
            race(
                work,
                racing.rules,
                progress=lambda event, name=work.name: tell(f"{name}: {event}"),  # type: ignore[misc]
            )
            for work in works
        )


def print_outcome(
    context: click.Context,
    outcome: Outcome,
    speedups: Sequence[Sequence[Speedup]] = (),
    *,
    as_records: bool,
) -> None:
    """Print results, speedups and peers; exit with an error if polysched was wrong.

    Args:
        speedups: the speedups of each table of ratios.
    """
    if as_records:
        for record in (*outcome.results, *chain(*speedups)):
            print_record(record)
    elif outcome.results:
        click.echo(markdown_table(outcome.results))
        for table in speedups:
            click.echo(ratio_table(table))
    end_races(context, outcome, as_records=as_records)


def ratio_table(speedups: Sequence[Speedup]) -> str:
    """A line with the speedup for each work, and the geometric mean."""
    if not speedups:
        return "no ratio: no peer was raced that is not held back"
    lines = [
        f"{speedup.work}: at most {speedup.ratio:.2f} times {speedup.over}, which is held back"
        if speedup.is_bound
        else f"{speedup.work}: {speedup.ratio:.2f} times {speedup.over}{_by(speedup)}"
        for speedup in speedups
    ]
    best_of = "" if all(speedup.own == OWN for speedup in speedups) else " of the fastest"
    bound = "at most " if any(speedup.is_bound for speedup in speedups) else ""
    mean = geometric_mean(speedup.ratio for speedup in speedups)
    return "\n".join([*lines, f"geometric mean{best_of}: {bound}{mean:.3f}"])


def _by(speedup: Speedup) -> str:
    return "" if speedup.own == OWN else f", by {speedup.own}"


def end_races(context: click.Context, outcome: Outcome, *, as_records: bool) -> None:
    """Print the peers and who was not raced; exit with an error if polysched was wrong."""
    _print_peers(outcome.peers, context.obj or (), as_records=as_records)
    _report_withdrawn(context, outcome.withdrawn)


def _print_peers(peers: Iterable[PeerKernels], cleared: Sequence[str], *, as_records: bool) -> None:
    """Print the processor, the kernels of each peer, and the cleared environment variables.

    Args:
        peers: the peers of all races; duplicates are printed once. If empty, nothing is printed.
    """
    host = detect_host()
    distinct = tuple(dict.fromkeys(peers))
    if not distinct:
        return
    if as_records:
        about = {"processor": host.name, "vector_bits": host.vector_bits, "cleared": cleared}
        for record in (about, *distinct):
            print_record(record)
        return
    click.echo(f"processor: {host.name}, vectors of {host.vector_bits} bits")
    for peer in distinct:
        click.echo(f"peer {peer}")
    if cleared:
        click.echo(f"cleared from the environment: {' '.join(cleared)}")


def _report_withdrawn(context: click.Context, withdrawn: Sequence[Withdrawn]) -> None:
    for entry in withdrawn:
        errors().print(f"not raced: {entry.contestant} ({entry.kernel}): {entry.reason}")
    wrong = dict.fromkeys(entry.contestant for entry in withdrawn if entry.is_defect)
    if wrong:
        print_error(f"wrong output of {' and '.join(wrong)}; this is a defect of polysched")
        context.exit(ExitCode.WRONG)


def markdown_table(results: Sequence[Result]) -> str:
    """The results, fastest first within each kernel; empty without results.

    Kernels keep the order in which they first appear. Columns are padded, so that the text can be
    read as it stands too. Ends with a newline.

    Args:
        results: all of one unit.
    """
    if not results:
        return ""
    kernels = list(dict.fromkeys(result.kernel for result in results))
    ordered = sorted(
        results, key=lambda result: (kernels.index(result.kernel), -result.fraction_of_peak)
    )
    headings = ("kernel", "contestant", *_RATES[results[0].unit], "runs", "max abs error")
    rows = [headings, *map(_cells, ordered)]
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    rule = [
        "-" * (width - 1) + ":" if is_number else "-" * width
        for width, is_number in zip(widths, _IS_NUMBER, strict=True)
    ]
    lines = [_line(row, widths) for row in (headings, rule, *rows[1:])]
    return "\n".join(lines) + "\n"


def _cells(result: Result) -> tuple[str, ...]:
    """Format a result, with as many digits as are reproducible on a shared machine."""
    held_back = "" if result.held_back is None else " (held back)"
    return (
        _escaped(result.kernel),
        _escaped(result.contestant + held_back),
        f"{result.fraction_of_peak:.3f}",
        f"{result.rate:.1f}",
        f"{result.peak_rate:.1f}",
        str(result.runs),
        f"{result.max_abs_err:.1e}",
    )


def _escaped(text: str) -> str:
    """Escape the characters that would end a cell."""
    return text.replace("|", "\\|").replace("\n", " ")


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """One row, words to the left and numbers to the right."""
    padded = (
        cell.rjust(width) if is_number else cell.ljust(width)
        for cell, width, is_number in zip(cells, widths, _IS_NUMBER, strict=True)
    )
    return f"| {' | '.join(padded)} |"
