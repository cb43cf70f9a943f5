"""The command ``polysched`` and the list of its subcommands."""

from __future__ import annotations

import click

from polysched.cli.commands import CommandsByName


@click.group(
    cls=CommandsByName,
    places={
        "Find, prove and understand schedules": {
            "optimize": "polysched.cli.optimize:optimize_command",
            "check": "polysched.cli.check:check_command",
            "explain": "polysched.cli.explain:explain_command",
            "show": "polysched.cli.show:show_command",
            "plot": "polysched.cli.plot:plot_command",
        },
        "Run and ship": {
            "run": "polysched.cli.run:run_command",
            "compile": "polysched.cli.compile:compile_command",
            "rewrite": "polysched.cli.rewrite:rewrite_command",
        },
        "Measure": {"bench": "polysched.cli.bench:bench"},
        "This machine": {
            "machine": "polysched.cli.machine:machine_command",
            "cache": "polysched.cli.cache:cache_command",
            "completion": "polysched.cli.completion:completion_command",
        },
    },
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="polysched", message="%(prog)s %(version)s")
def main() -> None:
    """Schedule affine loop nests, prove the schedules legal, compile them to AVX-512.

    Most commands take a TARGET: FILE.py, FILE.py:NAME, FILE.c or FILE.c:NAME. In a Python file,
    NAME is a schedule, a kernel, a function of ps.jit that the file calls, or a function that
    returns a schedule or a kernel; one whose only required parameter is a kernel gets the file's
    only kernel. In a C file, NAME is a function. Without
    NAME, TARGET is the file's only schedule, or else its only kernel or C function.

    \b
    polysched check examples/conv2d_relu.py:tutorial
    polysched optimize examples/gallery/gemm.c --fast-math -o gemm.sched
    polysched explain examples/gallery/gemm.c k
    polysched show examples/conv2d_relu.py:tutorial --stage loops
    polysched plot examples/seidel.py:tiled -o tiled.png
    polysched run examples/conv2d_relu.py:tutorial --repeat 10
    polysched compile examples/conv2d_relu.py:tutorial -o conv.o --header conv.h
    polysched compile examples/gallery/gemm.c --auto -o gemm.o
    polysched rewrite program.c --auto -o program.opt.c --object fast.o
    polysched bench conv

    \b
    Exit codes: 0 success, 1 illegal schedule or wrong result, 2 bad input,
    3 legality unknown, 130 interrupted, 141 output pipe closed by its reader.
    """
