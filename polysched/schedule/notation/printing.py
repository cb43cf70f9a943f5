"""Printer of schedules: the steps, and the loop tree that they make."""

from __future__ import annotations

from collections.abc import Iterator

from polysched.errors import ScheduleError
from polysched.ir.core.limits import limited
from polysched.ir.core.printing import format_access, format_expression
from polysched.ir.core.tree import Leaf, Loop, Node, Sequence
from polysched.ir.expr.affine import from_pw_aff
from polysched.schedule.core.program import Program
from polysched.schedule.schedule import Schedule


@limited(ScheduleError, "the loop tree cannot be shown")
def format_schedule(schedule: Schedule) -> str:
    """Format the steps, one per line, then the loop tree in comments: a schedule file.

    Raises:
        ScheduleError: isl gives up on the values of the loops.
    """
    steps = f"{schedule.trace()}\n\n" if schedule.steps else ""
    tree = "".join(f"# {line}\n" for line in format_tree(schedule.program).splitlines())
    return steps + tree


def format_tree(program: Program) -> str:
    """Format a loop tree with one line per loop and per statement.

    A loop's line shows its kind and its value for each statement below.
    """
    return "\n".join(_lines(program, program.tree, 0)) + "\n"


def _lines(program: Program, node: Node, depth: int) -> Iterator[str]:
    indent = "  " * depth
    match node:
        case Loop(name=name, kind=kind, values=values, body=body):
            shown = dict.fromkeys(
                format_expression(from_pw_aff(value)) for value in values.values()
            )
            yield f"{indent}{kind.value} {name} = {' | '.join(shown)}:"
            for ahead in node.prefetches:
                level = "" if ahead.level == 1 else f", to level {ahead.level}"
                of = "" if ahead.of == name else f" in '{ahead.of}'"
                yield f"{indent}  prefetch {ahead.array}, {ahead.distance} ahead{of}{level}"
            yield from _lines(program, body, depth + 1)
        case Sequence(children=children):
            for child in children:
                yield from _lines(program, child, depth)
        case Leaf(statement=statement):
            leaf = program.statements[statement]
            assignment = f"{format_access(leaf.target)} = {format_expression(leaf.value)}"
            yield f"{indent}{statement}: {assignment}"
