"""``polysched bench conv``: the convolution's race."""

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
    """The value of ``--sizes N,H,W,CI,CO``.

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
@click.option("--json", "as_records", is_flag=True, help="Print one JSON line a contestant.")
@click.option(
    "--sizes",
    callback=parsed_size,
    metavar="N,H,W,CI,CO",
    default="5,80,100,128,128",
    show_default=True,
    help="Images, rows, columns, channels in and out.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=15,
    show_default=True,
    help="In each round every contestant runs once.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Budget of the timed part; slow contestants then run less often.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Only contestants whose name contains NAME; may be repeated.",
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
    """Race the convolution with bias and ReLU, single thread.

    Contestants: polysched's schedules (a) unscheduled, (b) the tutorial's, (c) the best; numpy with
    the BLAS it comes with; and, where installed (pip install 'polysched[bench]'), torch, oneDNN
    and Halide with the tutorial's schedule. Every run stands between two bursts of the machine's
    own FMA peak; the fraction of that peak is what to compare. With --machine polysched's own are
    compiled for another machine, whose instructions this one must have too.

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
    for one in outcome.withdrawn:
        errors().print(f"not raced: {one.contestant}: {one.reason}")
    own = [one for one in outcome.withdrawn if one.contestant in SCHEDULES and one.is_wrong]
    if own:
        names = " and ".join(one.contestant for one in own)
        print_error(f"wrong output of {names}; this is a defect of polysched")
        context.exit(ExitCode.WRONG)


def _chosen(contestants: Sequence[Contestant], only: Sequence[str]) -> list[Contestant]:
    """The contestants whose names contain one of `only`, ignoring case; without `only` all."""
    names = [one.name for one in contestants]
    for part in only:
        if not any(part.casefold() in name.casefold() for name in names):
            raise BenchError(f"no contestant's name contains '{part}'{suggestion(part, names)}")
    return [
        one
        for one in contestants
        if not only or any(part.casefold() in one.name.casefold() for part in only)
    ]


def _label(size: ConvolutionSize) -> str:
    """The work's name and size, ``conv2d_relu 5x80x100x128x128``."""
    extents = (size.images, size.rows, size.columns, size.channels_in, size.channels_out)
    return f"conv2d_relu {'x'.join(map(str, extents))}"


def _results_table(outcome: Outcome) -> Table:
    """The results, fastest first."""
    table = Table(title=outcome.results[0].kernel, title_justify="left", box=SIMPLE_HEAD)
    for heading, is_number in list(zip(HEADINGS, IS_NUMBER, strict=True))[1:]:
        table.add_column(heading, justify="right" if is_number else "left", no_wrap=not is_number)
    for result in sorted(outcome.results, key=lambda one: -one.fraction_of_peak):
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
