"""``polysched bench matmul``: matrix products beside those of numpy and torch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import click
import numpy as np

from polysched.bench.matmul import (
    OWN,
    SUITE,
    MatmulSize,
    Ratio,
    contestants,
    geometric_mean,
    random_data,
    ratios,
    reference,
    tolerance,
)
from polysched.bench.peers import PeerKernels
from polysched.bench.race import Result, Withdrawn, race
from polysched.bench.region import region_seconds
from polysched.bench.table import markdown_table
from polysched.cli.failures import ExitCode
from polysched.cli.options import Racing, race_options
from polysched.cli.peers import print_peers
from polysched.cli.terminal import errors, print_error, progress
from polysched.errors import BenchError
from polysched.machine.load import load_machine
from polysched.machine.peak import PeakMeter

_TYPES = {"f32": np.float32, "f64": np.float64, "i8": np.int8}


def parsed_shapes(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[MatmulSize, ...]:
    """The values of ``--shape MxNxK``.

    Raises:
        click.BadParameter: one is not three positive numbers.
    """
    try:
        return tuple(MatmulSize(*_extents(value)) for value in values)
    except (ValueError, BenchError) as error:
        raise click.BadParameter(str(error), context, parameter) from None


def _extents(value: str) -> tuple[int, int, int]:
    try:
        m, n, k = map(int, value.split("x"))
    except ValueError:
        raise ValueError(f"'{value}' is not three numbers MxNxK, such as 64x64x256") from None
    return m, n, k


@click.command("matmul")
@click.option("--json", "as_records", is_flag=True, help="Print one JSON line a contestant.")
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    callback=parsed_shapes,
    metavar="MxNxK",
    help="Rows, columns and terms; may be repeated. By default a suite of 13 shapes.",
)
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--type", "dtype", type=click.Choice(list(_TYPES)), default="f32", show_default=True)
@race_options("each shape")
@click.pass_context
def matmul(
    context: click.Context,
    as_records: bool,
    shapes: tuple[MatmulSize, ...],
    threads: int,
    dtype: str,
    racing: Racing,
) -> None:
    """Race ps.matmul with numpy and, where installed, torch.

    Each is called as users do, packing and checks included, with an output to write into. Products
    of f32 are also raced by oneDNN, which torch brings along. Every run
    stands between two bursts of one core's peak in that type; that of i8 is four times that of f32,
    as four products of bytes fit one of 32 bits. After the table: how many times as
    fast as the fastest peer polysched is on each shape, and the geometric mean; with several
    threads also what it costs to wake them and to wait for them. With --machine polysched's code is
    planned and made for another machine, whose instructions this one must have too.

    \b
    polysched bench matmul
    polysched bench matmul --shape 64x64x64 --shape 37x1023x511 --threads 2
    polysched bench matmul --shape 512x512x512 --machine haswell-avx2
    polysched bench matmul --json > results.jsonl

    \b
    Exit codes: 0 success, 1 one of polysched's own results is wrong, 2 bad input.
    """
    results: list[Result] = []
    peers: list[PeerKernels] = []
    withdrawn: list[Withdrawn] = []
    element = _TYPES[dtype]
    host = load_machine()
    meter = PeakMeter(host)
    # The meter's FMAs are of float32; as many of float64 hold half as many numbers, of int8 four
    # times.
    share = np.dtype(np.float32).itemsize / np.dtype(element).itemsize
    with progress() as tell:
        for size in shapes or SUITE:
            label = f"{size} {dtype}"
            data = random_data(size, element)
            outcome = race(
                contestants(data, threads, racing.machine),
                kernel=label,
                flops=size.flops,
                peak_burst=lambda: share * meter.burst(),
                reference=reference(data),
                rules=racing.rules(tolerance(size, element)),
                progress=lambda what, label=label: tell(f"{label}: {what}"),  # type: ignore[misc]
            )
            results += outcome.results
            peers += outcome.peers
            withdrawn += outcome.withdrawn
    found = ratios(results)
    region = region_seconds(host, threads) if threads > 1 else None
    if as_records:
        for result in results:
            click.echo(result.as_json())
        for ratio in found:
            click.echo(json.dumps(asdict(ratio)))
        if region is not None:
            click.echo(json.dumps({"threads": threads, "region_microseconds": 1e6 * region}))
    elif results:
        click.echo(markdown_table(results))
        click.echo(ratio_table(found))
        if region is not None:
            click.echo(f"a parallel region of {threads} threads: {1e6 * region:.1f} microseconds")
    print_peers(context, peers, as_records=as_records)
    for one in withdrawn:
        errors().print(f"not raced: {one.contestant} ({one.kernel}): {one.reason}")
    if any(one.contestant == OWN and one.is_wrong for one in withdrawn):
        print_error("wrong output of polysched; this is a defect of polysched")
        context.exit(ExitCode.WRONG)


def ratio_table(found: Sequence[Ratio]) -> str:
    """A line for each shape, and the geometric mean."""
    if not found:
        return "no ratio: no peer was raced that is not held back"
    lines = [
        f"{one.kernel}: at most {one.ratio:.2f} times {one.peer}, which is held back"
        if one.is_bound
        else f"{one.kernel}: {one.ratio:.2f} times {one.peer}"
        for one in found
    ]
    bound = "at most " if any(one.is_bound for one in found) else ""
    return "\n".join([*lines, f"geometric mean: {bound}{geometric_mean(found):.3f}"])
