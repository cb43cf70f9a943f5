"""distribute: replace a loop around a sequence by a sequence of loops (loop fission)."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.errors import ScheduleError
from polysched.ir.core.tree import Sequence, restrict, sequence, statements
from polysched.schedule.core.program import Program, sequential_loop


@dataclass(frozen=True)
class Distribute:
    """Step record of :func:`distribute`, which documents the fields."""

    loop: str
    after: str | None = None


def distribute(program: Program, step: Distribute) -> Program:
    """Distribute a loop over the parts of its body: each part gets a loop of its own.

    The new loops keep the name of the loop; refer to them as ``"statement.loop"``.

    Args:
        loop (str): the loop.
        after (str | None): make two loops, cut after the part that holds this statement; by
            default every part of the body gets its own loop.

    before::

        for i in 0..n:
          S(i)
          T(i)

    after ``distribute("i")``::

        for i in 0..n: S(i)
        for i in 0..n: T(i)

    Checks:
        - The loop is sequential and has no prefetch, else ``StepError``.
        - Its body is a sequence, which holds the statement ``after``, else ``StepError``.
        - Legality: no part depends on an earlier iteration of a part behind it, else
          ``IllegalScheduleError``.
    """
    loop = sequential_loop(program, step.loop)
    if not isinstance(loop.body, Sequence):
        raise ScheduleError(
            f"the body of loop '{step.loop}' is not a sequence ({', '.join(statements(loop))}); "
            "distribute takes a loop around a sequence"
        )
    parts = [restrict(loop, group) for group in _groups(loop.body, step)]
    return program.with_node(loop, sequence([part for part in parts if part is not None]))


def _groups(body: Sequence, step: Distribute) -> list[frozenset[str]]:
    parts = [frozenset(statements(child)) for child in body.children]
    if step.after is None:
        return parts
    for position, part in enumerate(parts):
        if step.after in part:
            first = frozenset[str]().union(*parts[: position + 1])
            return [first, frozenset[str]().union(*parts[position + 1 :])]
    raise ScheduleError(f"statement '{step.after}' is not in the body of loop '{step.loop}'")
