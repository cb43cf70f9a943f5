"""What became of a loop: which of the earlier steps took it away, or made it what it is."""

from __future__ import annotations

from collections.abc import Sequence

from polysched.ir.source import SourceLocation
from polysched.ir.tree import Loop, LoopKind, loops, path, statements
from polysched.schedule.primitives import Step, format_step
from polysched.schedule.program import Program


def loop_history(
    reference: str,
    steps: Sequence[Step],
    locations: Sequence[SourceLocation | None],
    programs: Sequence[Program],
) -> str | None:
    """Why a loop cannot be used any more, as the end of a message that names it.

    It is told from the programs alone, so it knows of every primitive.

    Args:
        reference: ``"loop"`` or ``"statement.loop"``.
        steps, locations: the steps so far.
        programs: the program before the first of them, and after each.

    Returns:
        which step replaced the loop by which others, or which made it parallel, unrolled or a
        vector; None where no step did.
    """
    there = _named(programs[-1], reference)
    if there:
        is_marked = len(there) == 1 and there[0].kind is not LoopKind.SEQUENTIAL
        return _marking(reference, steps, locations, programs) if is_marked else None
    for index in reversed(range(len(steps))):
        gone = _named(programs[index], reference)
        if not gone:
            continue
        below = [name for loop in gone for name in statements(loop)]
        then = _new_names(below, programs[index], programs[index + 1])
        now = _new_names(below, programs[index], programs[-1])
        what = f"replaced it by {_list(then)}" if then else "took it away"
        later = f", later by {_list(now)}" if not set(then) <= set(now) else ""
        return f": {_step_text(index, steps, locations)}, {what}{later}"
    return None


def _marking(
    reference: str,
    steps: Sequence[Step],
    locations: Sequence[SourceLocation | None],
    programs: Sequence[Program],
) -> str | None:
    for index in reversed(range(len(steps))):
        if all(loop.kind is LoopKind.SEQUENTIAL for loop in _named(programs[index], reference)):
            text = _step_text(index, steps, locations)
            return f", by {text}; take it apart before that step"
    return None


def _step_text(
    index: int, steps: Sequence[Step], locations: Sequence[SourceLocation | None]
) -> str:
    place = "" if locations[index] is None else f", at {locations[index]}"
    return f"step {index + 1}, {format_step(steps[index])}{place}"


def _named(program: Program, reference: str) -> list[Loop]:
    statement, _, name = reference.rpartition(".")
    if statement and statement not in program.statements:
        return []
    candidates = path(program.tree, statement) if statement else loops(program.tree)
    return [loop for loop in candidates if loop.name == name]


def _new_names(below: list[str], before: Program, after: Program) -> list[str]:
    """The loops around the statements after a step that were not around them before it."""
    found: dict[str, None] = {}
    for statement in below:
        if statement not in after.statements:
            continue
        old = {loop.name for loop in path(before.tree, statement)}
        new = [loop.name for loop in path(after.tree, statement)]
        found.update(dict.fromkeys(name for name in new if name not in old))
    return list(found)


def _list(names: list[str]) -> str:
    return ", ".join(map(repr, names))
