"""``polysched bench transpose``: race ``ps.transpose`` with numpy and torch."""

from __future__ import annotations

import click

from polysched.bench.measure.bandwidth import copy_burst
from polysched.bench.measure.race import Work
from polysched.bench.measure.speedup import by_peer, over_each
from polysched.bench.transpose import PEERS, SUITE, TYPES, TransposeSize, contestants, random_data
from polysched.cli.benchmarks.races import print_outcome, run_races
from polysched.cli.options import NumbersType, Racing, race_options, records_option, threads_option
from polysched.machine.description import Machine


@click.command("transpose")
@records_option
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    type=NumbersType("ROWSxCOLUMNS", "512x512", lambda rows, columns: (rows, columns)),
    help="Shape of the input; may be repeated. By default a suite of shapes and types.",
)
@click.option(
    "--type",
    "types",
    multiple=True,
    type=click.Choice(TYPES),
    help="Element type; may be repeated. By default f32, or all of the suite.",
)
@threads_option
@race_options("each size")
@click.pass_context
def transpose(
    context: click.Context,
    as_records: bool,
    shapes: tuple[tuple[int, int], ...],
    types: tuple[str, ...],
    threads: int,
    racing: Racing,
) -> None:
    """Race ps.transpose with numpy and, if installed, torch.

    Each function writes into an existing output array. Before and after every run a plain copy of
    the same bytes is timed on one thread; compare the fractions of its rate. After the table, the
    command prints polysched's speedup over each peer. With --machine, polysched's code is compiled
    for another machine; this machine must have all instructions of that one.

    \b
    polysched bench transpose
    polysched bench transpose --shape 512x512 --shape 1000x4001 --type u8 --type f64
    polysched bench transpose --json > results.jsonl

    \b
    Exit codes: 0 success, 1 one of polysched's own results is wrong, 2 bad input.
    """
    works = (_work(size, threads, racing.machine) for size in _sizes(shapes, types))
    outcome = run_races(works, racing)
    tables = by_peer(over_each(outcome.results, PEERS))
    print_outcome(context, outcome, tables, as_records=as_records)


def _work(size: TransposeSize, threads: int, machine: Machine | None) -> Work:
    data = random_data(size)
    racers, right = contestants(data, threads, machine), data.T.copy()
    return Work(str(size), size.bytes, racers, right, copy_burst(size.bytes), unit="byte")


def _sizes(
    shapes: tuple[tuple[int, int], ...], types: tuple[str, ...]
) -> tuple[TransposeSize, ...]:
    """The sizes to race: all shapes in all types; without shapes, those of the suite."""
    if shapes:
        return tuple(
            TransposeSize(rows, columns, name)
            for rows, columns in shapes
            for name in types or ("f32",)
        )
    return tuple(size for size in SUITE if not types or size.type in types)
