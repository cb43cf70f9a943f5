"""``polysched bench``: the group of benchmarks."""

from __future__ import annotations

from typing import ClassVar

import click

from polysched.bench.measure.environment import clear_environment
from polysched.cli.commands import Invocation, LazyGroup


class _Benches(LazyGroup):
    """The benches; the old name of one is an error that gives the new name."""

    RENAMED: ClassVar = {"bitcast": "pack-bits"}

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first argument names."""
        if args and args[0] in self.RENAMED:
            ctx.fail(f"'bench {args[0]}' is now 'bench {self.RENAMED[args[0]]}'.")
        return super().resolve_command(ctx, args)


@click.group(
    "bench",
    cls=_Benches,
    places={
        "Commands": {
            "attention": "polysched.cli.benchmarks.attention:attention",
            "calls": "polysched.cli.benchmarks.calls:calls",
            "compile": "polysched.cli.benchmarks.compile:compile_command",
            "conv": "polysched.cli.benchmarks.conv:conv",
            "gallery": "polysched.cli.benchmarks.c_programs:gallery",
            "layers": "polysched.cli.benchmarks.layers:layers",
            "legality": "polysched.cli.benchmarks.legality:legality",
            "matmul": "polysched.cli.benchmarks.matmul:matmul",
            "pack-bits": "polysched.cli.benchmarks.pack_bits:pack_bits",
            "programs": "polysched.cli.benchmarks.c_programs:programs",
            "python": "polysched.cli.benchmarks.python:python",
            "quantized": "polysched.cli.benchmarks.quantized:quantized",
            "report": "polysched.cli.benchmarks.report:report",
            "transpose": "polysched.cli.benchmarks.transpose:transpose",
        }
    },
)
@click.pass_context
def bench(context: click.Context) -> None:
    """Measure speed relative to the machine's peak, and compile time.

    Environment variables that tune the libraries raced against, such as OPENBLAS_CORETYPE, MKL_*
    and OMP_*, are cleared first. After its results each benchmark prints which kernels those
    libraries ran. A library whose kernels use narrower vectors than this processor has counts as
    held back: a speedup over it is an upper bound.
    """
    invocation = context.obj
    is_process = isinstance(invocation, Invocation) and invocation.is_process
    context.obj = clear_environment() if is_process else ()
