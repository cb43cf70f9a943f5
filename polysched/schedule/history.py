"""History of a loop: the earlier step that replaced it or changed its kind."""

from __future__ import annotations

from collections.abc import Sequence

from polysched.ir.core.tree import Loop, LoopKind, loops, path, statements
from polysched.ir.expr.source import SourceLocation
from polysched.schedule.core.program import Program
from polysched.schedule.table import Step, format_step


def loop_history(
    reference: str,
    steps: Sequence[Step],
    locations: Sequence[SourceLocation | None],
    programs: Sequence[Program],
) -> str | None:
    """Return why a loop cannot be used any more, as the end of a message that names it.

    Only the programs are compared, so the function works for every primitive.

    Args:
        reference: ``"loop"`` or ``"statement.loop"``.
        steps, locations: the steps so far.
        programs: the program before the first of them, and after each.

    Returns:
        which step replaced the loop by which others, or which step made it parallel, unrolled or a
        vector; None if no step did.
    """
    current = _named(programs[-1], reference)
    if current:
        is_marked = len(current) == 1 and current[0].kind is not LoopKind.SEQUENTIAL
        return _marking(reference, steps, locations, programs) if is_marked else None
    for index in reversed(range(len(steps))):
        replaced = _named(programs[index], reference)
        if not replaced:
            continue
        below = [name for loop in replaced for name in statements(loop)]
        after_step = _new_names(below, programs[index], programs[index + 1])
        now = _new_names(below, programs[index], programs[-1])
        change = f"replaced it by {_list(after_step)}" if after_step else "removed it"
        later = f", later by {_list(now)}" if not set(after_step) <= set(now) else ""
        return f": {_step_text(index, steps, locations)}, {change}{later}"
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
            return f", by {text}; split it before that step"
    return None


def _step_text(
    index: int, steps: Sequence[Step], locations: Sequence[SourceLocation | None]
) -> str:
    location = "" if locations[index] is None else f", at {locations[index]}"
    return f"step {index + 1}, {format_step(steps[index])}{location}"


def _named(program: Program, reference: str) -> list[Loop]:
    statement, _, name = reference.rpartition(".")
    if statement and statement not in program.statements:
        return []
    candidates = path(program.tree, statement) if statement else loops(program.tree)
    return [loop for loop in candidates if loop.name == name]


def _new_names(below: list[str], before: Program, after: Program) -> list[str]:
    """Return the loops around the statements after a step that were not around them before."""
    names: dict[str, None] = {}
    for statement in below:
        if statement not in after.statements:
            continue
        old = {loop.name for loop in path(before.tree, statement)}
        new = [loop.name for loop in path(after.tree, statement)]
        names.update(dict.fromkeys(name for name in new if name not in old))
    return list(names)


def _list(names: list[str]) -> str:
    return ", ".join(map(repr, names))
