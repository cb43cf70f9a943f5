"""``polysched show``: print a schedule at one stage of compilation."""

from __future__ import annotations

import inspect

import click

from polysched.cli.completion import files
from polysched.cli.targets.schedule_file import (
    Reading,
    auto_option,
    load_scheduled_target,
    reading_options,
)
from polysched.cli.terminal import print_code
from polysched.dependence.graph import format_components, format_dot, statement_graph
from polysched.errors import PolyschedError
from polysched.inspect.assembly import hot_loop, parse
from polysched.ir.isl.budget import time_budget
from polysched.lower import STAGES, show, show_dependences
from polysched.schedule.schedule import Schedule
from polysched.vector.pass_list import PASSES

# Names of Pygments lexers; the text of other stages is not highlighted.
_LEXERS = {"c": "c", "llvm": "llvm", "asm": "gas"}


def _with_passes(command: click.Command) -> click.Command:
    """List the passes in the help of a command, in their order."""
    passes = "\n".join(f"{pass_.name:16} {pass_.summary}" for pass_ in PASSES)
    command.help = inspect.cleandoc(command.help or "").replace("{passes}", passes)
    return command


@_with_passes
@click.command("show")
@click.argument("target", shell_complete=files)
@reading_options
@auto_option
@click.option(
    "--stage",
    type=click.Choice(list(STAGES)),
    default="loops",
    show_default=True,
    help="The stage to print; see above.",
)
@click.option(
    "--summary",
    is_flag=True,
    help="With --stage asm: print only the instruction counts of the hot loop.",
)
@click.option(
    "--dot",
    is_flag=True,
    help="With --stage deps: print the statement graph in Graphviz's DOT language.",
)
@click.option(
    "--scheduled",
    is_flag=True,
    help="With --stage deps: show the dependences of the scheduled program, not of the kernel.",
)
@click.option(
    "--relations",
    is_flag=True,
    help="With --stage deps: add the exact relation to each dependence.",
)
def show_command(target: str, reading: Reading, stage: str, summary: bool, **graph: bool) -> None:
    """Print a schedule at one stage of compilation. It need not be legal.

    \b
    domain           the kernel as declared
    deps             its dependences, the loops that carry them, statement cycles
    schedule         the steps as a schedule file; the resulting loop tree in comments
    tree             the schedule as a schedule tree of isl, with its domain and bands
    properties       loops that could be parallel, vectorized or permuted
    loops            the loops in pseudo-code
    c                the loops in C99
    vector           the vector program after all passes
    llvm             the LLVM IR
    asm              the assembly

    The name of a pass is the stage after it; from 'vectorize' on, programs have explicit vectors,
    masks and memory accesses:

    \b
    {passes}

    In the table of 'deps', the column value says of a flow whether the reads see the value that the
    source wrote: yes; no, since another write comes between; or some, at these distances. Order is
    kept, or any for sums that may be reordered. Distance is in iterations of the common loops.

    \b
    polysched show examples/conv2d_relu.py:tutorial --stage loops
    polysched show my_kernel.py --stage asm --machine znver5
    polysched show my_kernel.py --stage asm --summary
    polysched show my_kernel.py --stage deps --scheduled
    polysched show my_kernel.py --stage deps --dot | dot -Tsvg > graph.svg
    """
    if summary and stage != "asm":
        raise click.UsageError(f"--summary counts instructions: it needs --stage asm, not {stage}")
    for name, is_set, effect in (
        ("--dot", graph["dot"], "draws the statement graph"),
        ("--scheduled", graph["scheduled"], "chooses which dependences are shown"),
        ("--relations", graph["relations"], "shows the dependences exactly"),
    ):
        if is_set and stage != "deps":
            raise click.UsageError(f"{name} {effect}: it needs --stage deps, not {stage}")
    if graph["dot"] and graph["relations"]:
        raise click.UsageError("--relations adds to the table, and --dot prints no table; use one")
    with time_budget(reading.time_limit()):
        schedule = load_scheduled_target(target, reading).schedule
        if stage == "deps":
            click.echo(_dependences(schedule, **graph))
            return
        text = show(schedule, stage, reading.machine)
    if summary:
        click.echo(_summary(text, schedule.kernel.name))
    else:
        print_code(text, _LEXERS.get(stage))


def _dependences(schedule: Schedule, *, dot: bool, scheduled: bool, relations: bool) -> str:
    """The statement graph in DOT, or the table of dependences and the graph's components."""
    program = schedule.program if scheduled else schedule.programs[0]
    graph = statement_graph(program.dependences, program.statements)
    if dot:
        return format_dot(graph).rstrip("\n")
    table = show_dependences(schedule, scheduled=scheduled, relations=relations)
    return f"{table}\n{format_components(graph)}".rstrip("\n")


def _summary(assembly: str, name: str) -> str:
    """The instruction counts of the hot loop of function `name`, in one line."""
    function = next((parsed for parsed in parse(assembly) if parsed.name == name), None)
    if function is None:
        raise PolyschedError(f"the assembly has no function '{name}'; expected x86-64 assembly")
    loop = hot_loop(function)
    if loop is None:
        return f"{name} has no loop; all of it: {function.counts.summary()}"
    return f"hot loop {loop.header}, depth {loop.depth}: {loop.counts.summary()}"
