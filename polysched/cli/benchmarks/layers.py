"""``polysched bench layers``: race ``ps.conv2d`` with oneDNN on layers of known networks."""

from __future__ import annotations

import click

from polysched.bench.layers import (
    SUITE,
    WINOGRAD,
    Layer,
    contestants,
    random_data,
    reference,
    tolerance,
)
from polysched.bench.measure.race import Work
from polysched.bench.measure.speedup import OWN, over_fastest
from polysched.cli.benchmarks.races import print_outcome, run_races
from polysched.cli.options import Racing, race_options, records_option
from polysched.machine.load import load_machine
from polysched.machine.peak import PeakMeter


@click.command("layers")
@records_option
@click.option(
    "--layer",
    "texts",
    multiple=True,
    metavar="TEXT",
    help="Race only layers whose name contains TEXT, such as 'MobileNet'; may be repeated.",
)
@race_options("each layer", other_machines=False)
@click.pass_context
def layers(
    context: click.Context, as_records: bool, texts: tuple[str, ...], racing: Racing
) -> None:
    """Race ps.conv2d with oneDNN on 20 layers of ResNet-50, MobileNet and U-Net.

    One image in f32, one thread, with bias and ReLU. All contestants get weights that were
    prepared before. ps.conv2d also races with Winograd's algorithm, in 3x3 layers of stride 1 that
    are not depthwise. The results are compared with a convolution computed in f64. After the table,
    the command prints polysched's speedup for each layer, and the geometric mean: of the direct
    sum, which the records have, and of the faster algorithm for each layer.

    \b
    polysched bench layers
    polysched bench layers --layer MobileNet
    polysched bench layers --json > results.jsonl

    \b
    Exit codes: 0 success, 1 one of polysched's own results is wrong, 2 bad input.
    """
    chosen = [layer for layer in SUITE if not texts or any(text in str(layer) for text in texts)]
    if not chosen:
        names = ", ".join(map(str, SUITE))
        raise click.UsageError(f"no layer's name contains {' or '.join(texts)}; they are {names}")
    meter = PeakMeter(load_machine())
    outcome = run_races((_work(layer, meter) for layer in chosen), racing)
    direct = over_fastest(result for result in outcome.results if result.contestant != WINOGRAD)
    best = over_fastest(outcome.results, (OWN, WINOGRAD))
    tables = [direct] if as_records or best == direct else [direct, best]
    print_outcome(context, outcome, tables, as_records=as_records)


def _work(layer: Layer, meter: PeakMeter) -> Work:
    data = random_data(layer)
    racers, right = contestants(data), reference(data)
    return Work(str(layer), layer.flops, racers, right, meter.burst, tolerance(layer))
