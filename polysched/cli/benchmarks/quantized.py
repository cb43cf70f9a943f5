"""``polysched bench quantized``: race layers with quantized weights with torch."""

from __future__ import annotations

import click

from polysched.bench.measure.race import Work
from polysched.bench.measure.speedup import by_peer, over_each
from polysched.bench.quantized import (
    PEERS,
    SUITE,
    LayerSize,
    contestants,
    random_data,
    reference,
    tolerance,
)
from polysched.cli.benchmarks.races import print_outcome, run_races
from polysched.cli.options import NumbersType, Racing, race_options, records_option, threads_option
from polysched.machine.load import load_machine
from polysched.machine.peak import PeakMeter


@click.command("quantized")
@records_option
@click.option(
    "--size",
    "sizes",
    multiple=True,
    type=NumbersType("ROWSxTERMSxCOLUMNS", "8x4096x4096", LayerSize),
    help="Rows, inputs and outputs of a layer; may be repeated. By default 1 to 64 rows by 4096.",
)
@click.option(
    "--bits",
    type=click.Choice(["4", "8"]),
    help="Race only weights of 4 bits, or of 8 bits. By default both.",
)
@threads_option
@race_options("each layer", other_machines=False)
@click.pass_context
def quantized(
    context: click.Context,
    as_records: bool,
    sizes: tuple[LayerSize, ...],
    bits: str | None,
    threads: int,
    racing: Racing,
) -> None:
    """Race products of f32 rows and quantized weights with torch's layers.

    Weights of 4 bits have a scale for 128 terms, weights of 8 bits one for each output. Contestants
    are polysched with prepared weights and rows rounded to 8 bits, polysched with f32 rows, torch's
    dynamically quantized layer, which has weights and rows of 8 bits, and torch's f32 layer. The
    results are compared with the product of the same weights in f64; the largest errors stand in
    the table. Fractions are those of the peak of one core in f32, which integers exceed.

    \b
    polysched bench quantized
    polysched bench quantized --size 1x4096x11008 --bits 4
    polysched bench quantized --json > results.jsonl

    \b
    Exit codes: 0 success, 1 one of polysched's own results is wrong, 2 bad input.
    """
    widths = (4, 8) if bits is None else (int(bits),)
    given = [
        LayerSize(size.rows, size.terms, size.columns, width) for width in widths for size in sizes
    ]
    meter = PeakMeter(load_machine())
    chosen = given or [size for size in SUITE if size.bits in widths]
    outcome = run_races((_work(size, threads, meter) for size in chosen), racing)
    tables = by_peer(over_each(outcome.results, PEERS))
    print_outcome(context, outcome, tables, as_records=as_records)


def _work(size: LayerSize, threads: int, meter: PeakMeter) -> Work:
    data = random_data(size)
    racers, right = contestants(data, threads), reference(data)
    return Work(str(size), size.flops, racers, right, meter.burst, tolerance(data))
