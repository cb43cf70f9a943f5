"""``polysched explain``: the decisions of the autoscheduler about one loop, with reasons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import click

from polysched.autoscheduler.driver import Optimized
from polysched.autoscheduler.report import Report, loop_lines, report_of
from polysched.cli.completion import files
from polysched.cli.inputs import sizes_option
from polysched.cli.targets.schedule_file import (
    Reading,
    load_scheduled_target,
    reading_options,
    threads_option,
)
from polysched.cli.terminal import output, progress
from polysched.ir.core.tree import Loop, loops
from polysched.ir.isl.budget import time_budget
from polysched.legality.reports.loop_reports import explained, format_loop_reports
from polysched.schedule.core.program import find_loop
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import format_step


@click.command("explain")
@click.argument("target", shell_complete=files)
@click.argument("loop", required=False)
@reading_options
@threads_option("The number of threads that the code may use.  [default: 1]")
@sizes_option("The value of a parameter for which to predict costs; may be repeated.")
def explain_command(target: str, loop: str | None, reading: Reading, sizes: dict[str, int]) -> None:
    """Explain what 'optimize' does with a LOOP of TARGET, and why a loop stays scalar or serial.

    LOOP is the name of one or more loops, or STATEMENT.LOOP; for a function of ps.jit it is a loop
    of the function, not of the schedule that ps.jit found. The answer has three parts: what would
    be legal for the loop as it is, and which dependences stand in the way; the decisions of the
    autoscheduler for the statements in the loop, with the numbers that decided; the loops in which
    these statements run afterwards. Without LOOP, the first part is printed for all loops.

    \b
    polysched explain examples/gallery/gemm.c k
    polysched explain examples/gallery/gemm.c k --fast-math
    polysched explain examples/seidel.py:skewed S.j
    """
    with progress() as tell, time_budget(reading.time_limit(searches=True)):
        loaded = load_scheduled_target(target, reading, uses_threads=True)
        # The loops of a function are those that its author knows, not those of ps.jit's schedule.
        is_found = loaded.is_jit and reading.schedule_file is None
        schedule = Schedule(loaded.schedule.kernel) if is_found else loaded.schedule
        program = schedule.program
        if loop is None:
            output().print(format_loop_reports(explained(schedule)))
            return
        every = list(loops(program.tree))
        own = [node for node in every if node.name == loop] or [find_loop(program, loop)]
        before = tuple(
            report
            for report, node in zip(explained(schedule), every, strict=True)
            if any(node is chosen for chosen in own)
        )
        made = reading.optimized(schedule, sizes=sizes, tell=tell)
        after = report_of(made.schedule, made.machine, made.sizes, made)
    outermost = min(report.depth for report in before)
    shown = tuple(replace(report, depth=report.depth - outermost) for report in before)
    output().print(format_loop_reports(shown).rstrip())
    for line in _lines(own, made, after):
        output().print(line)


def _lines(chosen: list[Loop], made: Optimized, report: Report) -> Iterator[str]:
    """The decisions for the statements of loops, and the loops in which they run afterwards."""
    inside = {statement for loop in chosen for statement in loop.statements}
    yield ""
    yield f"optimize for {report.machine}:"
    concerned = [d for d in made.decisions if inside & set(d.statements)]
    for decision in concerned:
        yield f"  {', '.join(decision.statements)}: {decision.reason}"
        yield from (f"    {format_step(step)}" for step in decision.steps)
    if not concerned:
        yield "  no change of this loop is predicted to gain"
    for decision, reason in made.dropped:
        if inside & set(decision.statements):
            yield f"  left out, since it is not proved: {reason.splitlines()[0]}"
    yield ""
    yield "afterwards:"
    yield from loop_lines(entry for entry in report.loops if inside & set(entry.statements))
