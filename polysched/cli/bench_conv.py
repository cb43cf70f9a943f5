"""``polysched bench conv``: race convolution schedules with numpy, torch, oneDNN and Halide."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from polysched.bench.contestant import Contestant
from polysched.bench.convolution import ConvolutionSize, random_data, reference, tolerance
from polysched.bench.convolution_own import SCHEDULES, own_contestants
from polysched.bench.peers_conv import convolution_peers
from polysched.bench.race import Outcome, race
from polysched.bench.table import HEADINGS, IS_NUMBER, contestant_cell, markdown_table
from polysched.cli.bandwidth import end_race
from polysched.cli.options import NumbersType, Racing, race_options, records_option
from polysched.cli.peers import print_peers
from polysched.cli.terminal import output, progress
from polysched.errors import BenchError, suggestion
from polysched.machine.load import load_machine
from polysched.machine.peak import PeakMeter


@click.command("conv")
@records_option
@click.option(
    "--sizes",
    type=NumbersType("N,H,W,CI,CO", "5,80,100,128,128", ConvolutionSize, ","),
    default="5,80,100,128,128",
    show_default=True,
    help="Number of images, rows, columns, input channels and output channels.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Run only contestants whose name contains NAME; may be repeated.",
)
@race_options("all contestants", 60.0)
@click.pass_context
def conv(
    context: click.Context,
    as_records: bool,
    sizes: ConvolutionSize,
    only: tuple[str, ...],
    racing: Racing,
) -> None:
    """Race a convolution with bias and ReLU on one thread.

    Contestants: polysched (a) without a schedule, (b) with the tutorial's schedule, (c) with the
    best schedule; numpy with its own BLAS; and, if installed (pip install '.[bench]'),
    torch, oneDNN, and Halide with the tutorial's schedule. Before and after every run the machine's
    FMA peak is measured; compare the fractions of that peak. With --machine, polysched's code is
    compiled for another machine; this machine must have all instructions of that one.

    \b
    polysched bench conv
    polysched bench conv --only polysched --only numpy --rounds 5
    polysched bench conv --json > results.jsonl

    \b
    Exit codes: 0 success, 1 one of polysched's own results is wrong, 2 bad input.
    """
    target = racing.machine or load_machine()
    with progress() as tell:
        tell("computing the reference")
        data = random_data(sizes)
        contestants = _chosen((*own_contestants(data, target), *convolution_peers(data)), only)
        outcome = race(
            contestants,
            kernel=_label(sizes),
            flops=sizes.flops,
            peak_burst=PeakMeter(target).burst,
            reference=reference(data),
            rules=racing.rules(tolerance(sizes)),
            progress=tell,
        )
    if as_records:
        for result in outcome.results:
            click.echo(result.as_json())
    elif output().is_terminal and outcome.results:
        output().print(_results_table(outcome), soft_wrap=False)
    elif outcome.results:
        click.echo(markdown_table(outcome.results), nl=False)
    print_peers(context, outcome.peers, as_records=as_records)
    end_race(context, outcome.withdrawn, lambda name: name in SCHEDULES)


def _chosen(contestants: Sequence[Contestant], only: Sequence[str]) -> list[Contestant]:
    """Select the contestants whose names contain a text of `only`, ignoring case; all if empty."""
    names = [contestant.name for contestant in contestants]
    for part in only:
        if not any(part.casefold() in name.casefold() for name in names):
            raise BenchError(f"no contestant's name contains '{part}'{suggestion(part, names)}")
    return [
        contestant
        for contestant in contestants
        if not only or any(part.casefold() in contestant.name.casefold() for part in only)
    ]


def _label(size: ConvolutionSize) -> str:
    """The name and size of the convolution, as in ``conv2d_relu 5x80x100x128x128``."""
    extents = (size.images, size.rows, size.columns, size.channels_in, size.channels_out)
    return f"conv2d_relu {'x'.join(map(str, extents))}"


def _results_table(outcome: Outcome) -> Table:
    """Table of the results, fastest first."""
    table = Table(title=outcome.results[0].kernel, title_justify="left", box=SIMPLE_HEAD)
    for heading, is_number in list(zip(HEADINGS, IS_NUMBER, strict=True))[1:]:
        table.add_column(heading, justify="right" if is_number else "left", no_wrap=not is_number)
    for result in sorted(outcome.results, key=lambda result: -result.fraction_of_peak):
        table.add_row(
            contestant_cell(result),
            f"{result.fraction_of_peak:.3f}",
            f"{result.gflops:.1f}",
            f"{result.peak_gflops:.1f}",
            str(result.runs),
            f"{result.max_abs_err:.1e}",
            style="bold" if result.contestant in SCHEDULES else None,
        )
    return table
