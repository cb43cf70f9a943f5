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
from polysched.bench.race import Outcome, Rules, race
from polysched.bench.table import HEADINGS, IS_NUMBER, contestant_cell, markdown_table
from polysched.cli.failures import ExitCode
from polysched.cli.options import racing_machine_option
from polysched.cli.peers import print_peers
from polysched.cli.terminal import errors, output, print_error, progress
from polysched.errors import BenchError, suggestion
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.machine.peak import PeakMeter


def parsed_size(context: click.Context, parameter: click.Parameter, value: str) -> ConvolutionSize:
    """Parse the value of ``--sizes N,H,W,CI,CO``.

    Raises:
        click.BadParameter: it is not five positive numbers.
    """
    try:
        images, rows, columns, channels_in, channels_out = map(int, value.split(","))
        return ConvolutionSize(images, rows, columns, channels_in, channels_out)
    except ValueError:
        message = f"'{value}' is not five numbers N,H,W,CI,CO, such as 5,80,100,128,128"
        raise click.BadParameter(message, context, parameter) from None
    except BenchError as error:
        raise click.BadParameter(str(error), context, parameter) from error


@click.command("conv")
@click.option("--json", "as_records", is_flag=True, help="Print a JSON line for each contestant.")
@click.option(
    "--sizes",
    callback=parsed_size,
    metavar="N,H,W,CI,CO",
    default="5,80,100,128,128",
    show_default=True,
    help="Number of images, rows, columns, input channels and output channels.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=15,
    show_default=True,
    help="Number of rounds; every contestant runs once in each.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Time limit of the measurements; if it is short, slow contestants run less often.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Run only contestants whose name contains NAME; may be repeated.",
)
@racing_machine_option
@click.pass_context
def conv(
    context: click.Context,
    as_records: bool,
    sizes: ConvolutionSize,
    rounds: int,
    seconds: float,
    only: tuple[str, ...],
    machine: Machine | None,
) -> None:
    """Race a convolution with bias and ReLU on one thread.

    Contestants: polysched (a) without a schedule, (b) with the tutorial's schedule, (c) with the
    best schedule; numpy with its own BLAS; and, if installed (pip install 'polysched[bench]'),
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
    target = machine or load_machine()
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
            rules=Rules(rounds=rounds, seconds_budget=seconds, tolerance=tolerance(sizes)),
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
    for entry in outcome.withdrawn:
        errors().print(f"not raced: {entry.contestant}: {entry.reason}")
    wrong = [
        entry.contestant
        for entry in outcome.withdrawn
        if entry.contestant in SCHEDULES and entry.is_wrong
    ]
    if wrong:
        names = " and ".join(wrong)
        print_error(f"wrong output of {names}; this is a defect of polysched")
        context.exit(ExitCode.WRONG)


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
