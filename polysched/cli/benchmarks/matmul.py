"""``polysched bench matmul``: race ``ps.matmul`` with numpy, torch and oneDNN."""

from __future__ import annotations

from time import perf_counter
from types import MappingProxyType

import click

from polysched.bench.matmul import SUITE, MatmulSize, contestants, random_data, reference, tolerance
from polysched.bench.measure.race import Work
from polysched.bench.measure.speedup import over_fastest
from polysched.bench.new_shapes import measured, random_sizes, summary
from polysched.bench.region import region_seconds
from polysched.cli.benchmarks.races import print_outcome, run_races
from polysched.cli.options import NumbersType, Racing, race_options, records_option, threads_option
from polysched.cli.terminal import print_record, progress
from polysched.ir.expr.dtypes import as_dtype
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.machine.peak import PeakMeter

_RATES = MappingProxyType({"f32": 1.0, "f64": 0.5, "bf16": 2.0, "f16": 1.0, "i8": 4.0})
"""The element types, and the peak in each as a multiple of that of f32."""


@click.command("matmul")
@records_option
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    type=NumbersType("MxNxK", "64x64x256", MatmulSize),
    help="Rows, columns and inner dimension; may be repeated. By default a suite of 13 shapes.",
)
@threads_option
@click.option(
    "--type",
    "dtype",
    type=click.Choice(list(_RATES)),
    default="f32",
    show_default=True,
    help="Element type of the operands.",
)
@click.option(
    "--random",
    "random_shapes",
    type=click.IntRange(min=1),
    metavar="COUNT",
    help="Multiply so many random new shapes in a row instead of racing.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Where the random shapes begin."
)
@race_options("each shape")
@click.pass_context
def matmul(
    context: click.Context,
    as_records: bool,
    shapes: tuple[MatmulSize, ...],
    threads: int,
    dtype: str,
    random_shapes: int | None,
    seed: int,
    racing: Racing,
) -> None:
    """Race ps.matmul with numpy and, if installed, torch.

    Each function is called as users call it, with an output array; packing and argument checks
    count. In f32, oneDNN, which comes with torch, races too. Before and after every run the peak of
    one core in that type is measured; the peak of i8 is four times that of f32, as a 32-bit lane
    holds four products of bytes, and the peak of bf16 twice that of f32. After the table, the
    command prints polysched's speedup over the fastest peer for each shape, and the geometric mean;
    with several threads also the cost of starting and joining a parallel region. With --machine,
    polysched's code is planned and compiled for another machine; this machine must have all
    instructions of that one.

    \b
    polysched bench matmul
    polysched bench matmul --shape 64x64x64 --shape 37x1023x511 --threads 2
    polysched bench matmul --shape 512x512x512 --machine haswell-avx2
    polysched bench matmul --json > results.jsonl

    With --random, the first calls of random shapes are timed in a row, by the size-generic kernels
    and by numpy. Then these kernels are timed beside the specialized ones. Generic kernels that are
    not on disk are made before.

    \b
    polysched bench matmul --random 200

    \b
    Exit codes: 0 success, 1 one of polysched's own results is wrong, 2 bad input.
    """
    if random_shapes is not None:
        if shapes or dtype not in {"f32", "f64"} or racing.machine is not None:
            raise click.UsageError("--random takes f32 or f64 and neither --shape nor --machine")
        _random_shapes(random_shapes, seed, dtype, threads, as_records=as_records)
        return
    host = load_machine()
    meter = PeakMeter(host)
    works = (_work(size, dtype, threads, racing.machine, meter) for size in shapes or SUITE)
    outcome = run_races(works, racing)
    if threads > 1:
        microseconds = 1e6 * region_seconds(host, threads)
        if as_records:
            print_record({"threads": threads, "region_microseconds": microseconds})
        else:
            click.echo(f"a parallel region of {threads} threads: {microseconds:.1f} microseconds")
    print_outcome(context, outcome, [over_fastest(outcome.results)], as_records=as_records)


def _work(
    size: MatmulSize, dtype: str, threads: int, machine: Machine | None, meter: PeakMeter
) -> Work:
    element = as_dtype(dtype).numpy()
    data = random_data(size, element)
    return Work(
        f"{size} {dtype}",
        size.flops,
        contestants(data, threads, machine),
        reference(data),
        lambda: _RATES[dtype] * meter.burst(),  # the meter runs FMAs of f32
        tolerance(size, element),
    )


def _random_shapes(count: int, seed: int, dtype: str, threads: int, *, as_records: bool) -> None:
    """Measure new shapes, and print a line for each if ``as_records``, then the summary."""
    with progress() as tell:
        sizes = list(random_sizes(count, seed))
        shapes = measured(sizes, as_dtype(dtype).numpy(), threads, perf_counter, tell)
    summarized = summary(shapes)
    if as_records:
        for record in (*shapes, summarized):
            print_record(record)
        return
    click.echo(
        f"generic kernels at {summarized.mean:.2f} of specialized code in the geometric mean of "
        f"{summarized.shapes} shapes, at {summarized.lowest:.2f} for {summarized.slowest}\n"
        f"a first call takes {1e6 * summarized.overhead:.0f} microseconds more than a later one\n"
        f"all first calls: {summarized.total:.3f} s, numpy {summarized.numpy_total:.3f} s"
    )
