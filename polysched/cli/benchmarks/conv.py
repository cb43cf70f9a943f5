"""``polysched bench conv``: race convolution schedules with numpy, torch, oneDNN and Halide."""

from __future__ import annotations

from collections.abc import Sequence

import click

from polysched.bench.conv.peers import convolution_peers
from polysched.bench.conv.work import (
    ConvolutionSize,
    own_contestants,
    random_data,
    reference,
    tolerance,
)
from polysched.bench.measure.contestant import Contestant
from polysched.bench.measure.race import Work
from polysched.cli.benchmarks.races import print_outcome, run_races
from polysched.cli.options import NumbersType, Racing, race_options, records_option
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
    data = random_data(sizes)
    racers = _chosen((*own_contestants(data, target), *convolution_peers(data)), only)
    burst = PeakMeter(target).burst
    work = Work(_label(sizes), sizes.flops, racers, reference(data), burst, tolerance(sizes))
    print_outcome(context, run_races([work], racing), as_records=as_records)


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
