"""``polysched bench layers``: race ``ps.conv2d`` with oneDNN on layers of known networks."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from polysched.bench.layers import SUITE, contestants, random_data, reference, tolerance
from polysched.bench.matmul import ratios
from polysched.bench.peers import PeerKernels
from polysched.bench.race import Result, Withdrawn, race
from polysched.bench.speedup import OWN
from polysched.bench.table import markdown_table
from polysched.cli.bandwidth import end_race
from polysched.cli.bench_matmul import ratio_table
from polysched.cli.options import Racing, race_options
from polysched.cli.peers import print_peers
from polysched.cli.terminal import progress
from polysched.machine.load import load_machine
from polysched.machine.peak import PeakMeter


@click.command("layers")
@click.option("--json", "as_records", is_flag=True, help="Print a JSON line for each contestant.")
@click.option(
    "--layer",
    "texts",
    multiple=True,
    metavar="TEXT",
    help="Race only layers whose name contains TEXT, such as 'MobileNet'; may be repeated.",
)
@race_options("each layer")
@click.pass_context
def layers(
    context: click.Context, as_records: bool, texts: tuple[str, ...], racing: Racing
) -> None:
    """Race ps.conv2d with oneDNN on 20 layers of ResNet-50, MobileNet and U-Net.

    One image in f32, one thread, with bias and ReLU. Both contestants get weights that were
    prepared before. The results are compared with a convolution computed in f64. After the table,
    the command prints polysched's speedup for each layer, and the geometric mean.

    \b
    polysched bench layers
    polysched bench layers --layer MobileNet
    polysched bench layers --json > results.jsonl

    \b
    Exit codes: 0 success, 1 one of polysched's own results is wrong, 2 bad input.
    """
    if racing.machine is not None:
        raise click.UsageError("bench layers runs the kernels of this machine; no --machine")
    chosen = [layer for layer in SUITE if not texts or any(text in str(layer) for text in texts)]
    if not chosen:
        names = ", ".join(map(str, SUITE))
        raise click.UsageError(f"no layer's name contains {' or '.join(texts)}; they are {names}")
    results: list[Result] = []
    peers: list[PeerKernels] = []
    withdrawn: list[Withdrawn] = []
    meter = PeakMeter(load_machine())
    with progress() as tell:
        for layer in chosen:
            data = random_data(layer)
            outcome = race(
                contestants(data),
                kernel=str(layer),
                flops=layer.flops,
                peak_burst=meter.burst,
                reference=reference(data),
                rules=racing.rules(tolerance(layer)),
                progress=lambda event, layer=layer: tell(f"{layer}: {event}"),  # type: ignore[misc]
            )
            results += outcome.results
            peers += outcome.peers
            withdrawn += outcome.withdrawn
    speedups = ratios(results)
    if as_records:
        for record in (*map(asdict, results), *map(asdict, speedups)):
            click.echo(json.dumps(record, allow_nan=False))
    elif results:
        click.echo(markdown_table(results))
        click.echo(ratio_table(speedups))
    print_peers(context, peers, as_records=as_records)
    end_race(context, withdrawn, lambda name: name == OWN)
