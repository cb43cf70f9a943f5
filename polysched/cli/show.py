"""``polysched show``: one stage of the flow as text."""

from __future__ import annotations

import click

from polysched.cli.target import load_target
from polysched.cli.terminal import print_code
from polysched.codegen.assembly import hot_loop, parse
from polysched.dependence.graph import format_dot, statement_graph
from polysched.errors import PolyschedError
from polysched.lower import STAGES, show

# Names of Pygments's lexers; the other stages are no known language.
_LEXERS = {"c": "c", "llvm": "llvm", "asm": "gas"}


@click.command("show")
@click.argument("target")
@click.option(
    "--stage", type=click.Choice(list(STAGES)), required=True, help="What to print; see above."
)
@click.option(
    "--machine",
    metavar="MACHINE",
    help="What to generate code for: a name (see 'polysched machine'), a .toml file, or 'host'.",
)
@click.option(
    "--summary", is_flag=True, help="With --stage asm: only count the hot loop's instructions."
)
@click.option(
    "--dot",
    is_flag=True,
    help="With --stage deps: the statement graph in Graphviz's language.",
)
def show_command(target: str, stage: str, machine: str | None, summary: bool, dot: bool) -> None:
    """Print a schedule at one stage of the flow. It need not be legal.

    \b
    domain      the kernel as declared
    deps        its dependences
    schedule    the loop tree that the steps make
    properties  which loops could be parallel, vectors or permuted
    loops       the loops in pseudo-code
    c           the loops in C99
    llvm        the LLVM IR that is emitted
    asm         the assembly that LLVM makes of it

    \b
    polysched show examples/conv2d_relu.py:tutorial --stage loops
    polysched show my_kernel.py --stage asm --machine znver5
    polysched show my_kernel.py --stage asm --summary
    polysched show my_kernel.py --stage deps --dot | dot -Tsvg > graph.svg
    """
    if summary and stage != "asm":
        raise click.UsageError(f"--summary counts instructions: it needs --stage asm, not {stage}")
    if dot and stage != "deps":
        raise click.UsageError(
            f"--dot draws the statement graph: it needs --stage deps, not {stage}"
        )
    schedule = load_target(target).schedule
    if dot:
        program = schedule.program
        graph = statement_graph(program.dependences, program.statements)
        click.echo(format_dot(graph), nl=False)
        return
    text = show(schedule, stage, machine)
    if summary:
        click.echo(_summary(text, schedule.kernel.name))
    else:
        print_code(text, _LEXERS.get(stage))


def _summary(assembly: str, name: str) -> str:
    """The hot loop of function `name` in one line."""
    function = next((one for one in parse(assembly) if one.name == name), None)
    if function is None:
        raise PolyschedError(f"the assembly has no function '{name}'; expected x86-64 assembly")
    loop = hot_loop(function)
    if loop is None:
        return f"{name} has no loop; all of it: {function.counts.summary()}"
    return f"hot loop {loop.header}, depth {loop.depth}: {loop.counts.summary()}"
