"""``polysched bench attention``: race ``ps.attention`` with torch."""

from __future__ import annotations

from dataclasses import replace

import click

from polysched.bench.attention import (
    PEER,
    SUITE,
    AttentionSize,
    contestants,
    random_data,
    reference,
    tolerance,
)
from polysched.bench.measure.race import Work
from polysched.bench.measure.speedup import over_each
from polysched.cli.benchmarks.races import print_outcome, run_races
from polysched.cli.options import NumbersType, Racing, race_options, records_option, threads_option
from polysched.machine.load import load_machine
from polysched.machine.peak import PeakMeter


@click.command("attention")
@records_option
@click.option(
    "--size",
    "sizes",
    multiple=True,
    type=NumbersType("HEADSxLENGTHxWIDTH", "8x1024x64", AttentionSize),
    help="Heads, queries and keys, and width; may be repeated. By default a suite of 7 sizes.",
)
@click.option(
    "--causal/--full",
    default=None,
    help="Race only causal attention, or only attention to all keys. By default both.",
)
@threads_option
@race_options("each size", other_machines=False)
@click.pass_context
def attention(
    context: click.Context,
    as_records: bool,
    sizes: tuple[AttentionSize, ...],
    causal: bool | None,
    threads: int,
    racing: Racing,
) -> None:
    """Race ps.attention with torch's scaled_dot_product_attention, in f32.

    Each function is called as users call it. The results are compared with attention computed in
    f64. Before and after every run the peak of one core is measured. Flops are those of the two
    products; causal attention counts the visible keys only. After the table, the command prints
    polysched's speedup for each size, and the geometric mean.

    \b
    polysched bench attention
    polysched bench attention --size 8x1000x64 --causal
    polysched bench attention --json > results.jsonl

    \b
    Exit codes: 0 success, 1 one of polysched's own results is wrong, 2 bad input.
    """
    given = [replace(size, causal=form) for size in sizes for form in (False, True)]
    meter = PeakMeter(load_machine())
    works = (
        _work(size, threads, meter)
        for size in given or SUITE
        if causal is None or size.causal == causal
    )
    outcome = run_races(works, racing)
    speedups = over_each(outcome.results, (PEER,))
    print_outcome(context, outcome, [speedups], as_records=as_records)


def _work(size: AttentionSize, threads: int, meter: PeakMeter) -> Work:
    data = random_data(size)
    racers, right = contestants(data, threads), reference(data)
    return Work(str(size), size.flops, racers, right, meter.burst, tolerance(size))
