"""``polysched bench pack-bits``: packing and unpacking relative to a plain copy."""

from __future__ import annotations

import click

from polysched.bench.measure.bandwidth import copy_burst
from polysched.bench.measure.race import Work
from polysched.bench.measure.speedup import by_peer, over_each
from polysched.bench.pack_bits import (
    LARGE,
    PEERS,
    TYPES,
    BitcastWork,
    block_count,
    contestants,
    random_data,
)
from polysched.cli.benchmarks.races import print_outcome, run_races
from polysched.cli.options import Racing, race_options, records_option
from polysched.errors import KernelError
from polysched.ir.expr.dtypes import DType, as_dtype
from polysched.llvm.subbyte.conversion import Direction
from polysched.machine.description import Machine
from polysched.machine.load import load_machine


def parsed_types(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[DType, ...]:
    """Parse the values of ``--type``."""
    try:
        return tuple(map(as_dtype, values))
    except KernelError as error:
        raise click.BadParameter(str(error), context, parameter) from None


@click.command("pack-bits")
@records_option
@click.option(
    "--type",
    "types",
    multiple=True,
    callback=parsed_types,
    metavar="TYPE",
    help="Element type of 1 to 7 bits; may be repeated. By default u4, i4, i5, u2 and i3.",
)
@click.option(
    "--count",
    "counts",
    type=int,
    multiple=True,
    help="Number of elements; may be repeated. By default a block that fits the L2 cache, and "
    "2^24.",
)
@click.option(
    "--strategies", is_flag=True, help="Also race each of polysched's instruction sequences."
)
@race_options("each work")
@click.pass_context
def pack_bits(
    context: click.Context,
    as_records: bool,
    types: tuple[DType, ...],
    counts: tuple[int, ...],
    strategies: bool,
    racing: Racing,
) -> None:
    """Race packing and unpacking of narrow integers.

    Contestants are polysched's kernels, numpy, and LLVM's own lowering of the same bitcast, all on
    one thread. Before and after every run a plain copy of the unpacked bytes is timed; compare the
    fractions of its rate. With --machine, the code is compiled for another machine; this machine
    must have all instructions of that one.

    \b
    polysched bench pack-bits
    polysched bench pack-bits --type i5 --count 262144 --strategies
    polysched bench pack-bits --json > results.jsonl

    \b
    Exit codes: 0 success, 1 one of polysched's own results is wrong, 2 bad input.
    """
    works = [
        BitcastWork(direction, dtype, count)
        for count in counts or (block_count(load_machine()), LARGE)
        for dtype in types or map(as_dtype, TYPES)
        for direction in Direction
    ]
    outcome = run_races((_work(work, strategies, racing.machine) for work in works), racing)
    tables = by_peer(over_each(outcome.results, PEERS))
    print_outcome(context, outcome, tables, as_records=as_records)


def _work(work: BitcastWork, strategies: bool, machine: Machine | None) -> Work:
    data = random_data(work)
    racers = contestants(data, strategies=strategies, machine=machine)
    burst = copy_burst(work.count)
    return Work(str(work), work.count, racers, data.expected, burst, unit="byte")
