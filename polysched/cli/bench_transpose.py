"""``polysched bench transpose``: race ``ps.transpose`` with numpy and torch."""

from __future__ import annotations

import click

from polysched.bench import transpose as works
from polysched.bench.bandwidth import copy_burst, moved, speedups
from polysched.bench.race import Outcome, joined, labeled, race
from polysched.bench.speedup import OWN
from polysched.bench.transpose import SUITE, TransposeSize
from polysched.cli.bandwidth import end_race, print_bandwidths
from polysched.cli.options import (
    NumbersType,
    Racing,
    race_options,
    records_option,
    threads_option,
)
from polysched.cli.peers import print_peers
from polysched.cli.terminal import progress


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
    type=click.Choice(works.TYPES),
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
    outcomes: list[Outcome] = []
    with progress() as tell:
        for size in _sizes(shapes, types):
            data = works.random_data(size)
            outcomes.append(
                race(
                    works.contestants(data, threads, racing.machine),
                    kernel=str(size),
                    flops=size.bytes,
                    peak_burst=copy_burst(size.bytes),
                    reference=data.T.copy(),
                    rules=racing.rules(),
                    progress=labeled(tell, str(size)),
                )
            )
    outcome = joined(outcomes)
    results = list(map(moved, outcome.results))
    print_bandwidths(results, speedups(results, OWN, works.PEERS), as_records=as_records)
    print_peers(context, outcome.peers, as_records=as_records)
    end_race(context, outcome.withdrawn, lambda name: name == OWN)


def _sizes(
    shapes: tuple[tuple[int, int], ...], types: tuple[str, ...]
) -> tuple[TransposeSize, ...]:
    """The sizes to race: all shapes in all types; without shapes, the suite's sizes of the types.

    Raises:
        BenchError: a shape is empty.
    """
    if shapes:
        return tuple(
            TransposeSize(rows, columns, name)
            for rows, columns in shapes
            for name in types or ("f32",)
        )
    return tuple(size for size in SUITE if not types or size.type in types)
