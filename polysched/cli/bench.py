"""``polysched bench``: the group of benchmarks, and ``bench compile``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from polysched.bench.compile_time import Delay, measure_delays
from polysched.bench.environment import clear_environment
from polysched.cli.bench_attention import attention
from polysched.cli.bench_calls import calls
from polysched.cli.bench_conv import conv
from polysched.cli.bench_gallery import gallery
from polysched.cli.bench_layers import layers
from polysched.cli.bench_legality import legality
from polysched.cli.bench_matmul import matmul
from polysched.cli.bench_pack_bits import pack_bits
from polysched.cli.bench_programs import programs
from polysched.cli.bench_python import python
from polysched.cli.bench_quantized import quantized
from polysched.cli.bench_report import report
from polysched.cli.bench_transpose import transpose
from polysched.cli.commands import Invocation, require_command, summaries
from polysched.cli.options import racing_machine_option
from polysched.cli.terminal import output, progress
from polysched.machine.description import Machine


@click.command("compile")
@click.option("--json", "as_records", is_flag=True, help="Print a JSON line for each measurement.")
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Number of new processes for each measurement.",
)
@racing_machine_option
def compile_command(as_records: bool, runs: int, machine: Machine | None) -> None:
    """Time 'import polysched', and compiling a convolution from its declaration to a callable.

    Nothing is cached: each measurement runs in a new process. The command prints the medians.

    \b
    polysched bench compile
    polysched bench compile --runs 11 --json
    """
    with progress() as tell:
        delays = measure_delays(runs, machine=machine, progress=tell)
    if as_records:
        for delay in delays:
            click.echo(delay.as_json())
    else:
        output().print(_delays_table(delays), soft_wrap=False)


def _delays_table(delays: Sequence[Delay]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("delay")
    table.add_column("median", justify="right")
    table.add_column("processes", justify="right")
    for delay in delays:
        table.add_row(delay.what, f"{delay.seconds * 1e3:.0f} ms", str(delay.runs))
    return table


class _Benches(click.Group):
    """The benches; the old name of one is an error that gives the new name."""

    RENAMED: ClassVar = {"bitcast": "pack-bits"}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the benches with their whole summaries."""
        with formatter.section("Commands"):
            formatter.write_dl(summaries(self, ctx, self.list_commands(ctx)))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first argument names."""
        if args and args[0] in self.RENAMED:
            ctx.fail(f"'bench {args[0]}' is now 'bench {self.RENAMED[args[0]]}'.")
        require_command(self, ctx, args)
        return super().resolve_command(ctx, args)


@click.group(
    "bench",
    cls=_Benches,
    commands=[
        attention,
        calls,
        compile_command,
        conv,
        gallery,
        layers,
        legality,
        matmul,
        pack_bits,
        programs,
        python,
        quantized,
        report,
        transpose,
    ],
)
@click.pass_context
def bench(context: click.Context) -> None:
    """Measure speed relative to the machine's peak, and compile time.

    Environment variables that tune the libraries raced against, such as OPENBLAS_CORETYPE, MKL_*
    and OMP_*, are cleared first. After its results each benchmark prints which kernels those
    libraries ran. A library whose kernels use narrower vectors than this processor has counts as
    held back: no speedup over it is reported.
    """
    invocation = context.obj
    is_process = isinstance(invocation, Invocation) and invocation.is_process
    context.obj = clear_environment() if is_process else ()
