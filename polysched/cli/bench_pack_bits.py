"""``polysched bench pack-bits``: packing, unpacking and 4-bit weights relative to a plain copy."""

from __future__ import annotations

from collections.abc import Sequence

import click

from polysched.bench import pack_bits as works
from polysched.bench import quantized
from polysched.bench.bandwidth import copy_burst, moved, speedups
from polysched.bench.contestant import Contestant
from polysched.bench.race import Outcome, Progress, joined, labeled, race
from polysched.bench.speedup import OWN
from polysched.cli.bandwidth import end_race, print_bandwidths
from polysched.cli.options import Racing, race_options, records_option
from polysched.cli.peers import print_peers
from polysched.cli.terminal import progress
from polysched.errors import KernelError
from polysched.ir.expr.dtypes import DType, as_dtype
from polysched.llvm.subbyte.conversion import Direction
from polysched.machine.load import load_machine


def parsed_types(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[DType, ...]:
    """Parse the values of ``--type``.

    Raises:
        click.BadParameter: a value is not an element type.
    """
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
    "--gemv",
    type=int,
    default=4096,
    show_default=True,
    help="Rows and columns of the matrix of 4-bit weights; 0 skips that product.",
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
    gemv: int,
    strategies: bool,
    racing: Racing,
) -> None:
    """Race packing and unpacking of narrow integers, and a matrix-vector product of 4-bit weights.

    Contestants are polysched's kernels, numpy, and LLVM's own lowering of the same bitcast; for the
    product, polysched, and numpy and torch with float32 weights. All run on one thread. Before and
    after every run a plain copy of the unpacked bytes is timed; compare the fractions of its rate.
    With --machine, the code is compiled for another machine; this machine must have all
    instructions of that one.

    \b
    polysched bench pack-bits
    polysched bench pack-bits --type i5 --count 262144 --gemv 0 --strategies
    polysched bench pack-bits --json > results.jsonl

    \b
    Exit codes: 0 success, 1 one of polysched's own results is wrong, 2 bad input.
    """
    outcomes: list[Outcome] = []
    chosen = types or tuple(map(as_dtype, works.TYPES))
    with progress() as tell:
        for count in counts or (works.block_count(load_machine()), works.LARGE):
            burst = copy_burst(max(count, 1))
            for dtype in chosen:
                for direction in Direction:
                    data = works.random_data(works.BitcastWork(direction, dtype, count))
                    outcomes.append(
                        race(
                            works.contestants(data, strategies=strategies, machine=racing.machine),
                            kernel=str(data.work),
                            flops=count,
                            peak_burst=burst,
                            reference=data.expected,
                            rules=racing.rules(),
                            progress=labeled(tell, str(data.work)),
                        )
                    )
        if gemv:
            outcomes.append(_gemv(gemv, racing, tell))
    outcome = joined(outcomes)
    results = list(map(moved, outcome.results))
    ratios = speedups(results, OWN, (*works.PEERS, *quantized.PEERS))
    print_bandwidths(results, ratios, as_records=as_records)
    print_peers(context, outcome.peers, as_records=as_records)
    end_race(context, outcome.withdrawn, lambda name: name.startswith((OWN, "strategy")))


def _gemv(rows: int, racing: Racing, tell: Progress) -> Outcome:
    data = quantized.random_data(rows, rows)
    racers: Sequence[Contestant] = quantized.contestants(data, racing.machine)
    return race(
        racers,
        kernel=str(data),
        flops=data.size,
        peak_burst=copy_burst(data.size),
        reference=quantized.reference(data),
        rules=racing.rules(quantized.tolerance(data)),
        progress=labeled(tell, str(data)),
    )
