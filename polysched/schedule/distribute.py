"""distribute: a loop around a sequence becomes a sequence of loops."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.errors import ScheduleError
from polysched.ir.tree import Loop, Node, Sequence, restrict, rewrite, sequence, statements
from polysched.schedule.program import Program, sequential_loop


@dataclass(frozen=True)
class Distribute:
    """Give the parts of a loop's body loops of their own.

    Args:
        loop: a loop whose body is a sequence.
        after: split the body once, after the part that holds this statement; by default every part
            of the body gets its own loop. The new loops keep the name; tell them apart as
            ``"statement.loop"``.
    """

    loop: str
    after: str | None = None


def distribute(program: Program, step: Distribute) -> Program:
    """Split the body of a loop into several loops that run one after the other.

    before::

        for i in 0..n:
          S(i)
          T(i)

    after ``distribute("i")``::

        for i in 0..n: S(i)
        for i in 0..n: T(i)
    """
    loop = sequential_loop(program, step.loop)
    if not isinstance(loop.body, Sequence):
        raise ScheduleError(
            f"loop '{step.loop}' holds one thing only ({', '.join(statements(loop))}); "
            f"distribute takes a "
            "loop around a sequence"
        )
    groups = _groups(loop.body, step)

    def parts(node: Node) -> Node:
        assert isinstance(node, Loop)
        return sequence([part for group in groups if (part := restrict(node, group)) is not None])

    return program.with_tree(rewrite(program.tree, loop, parts))


def _groups(body: Sequence, step: Distribute) -> list[frozenset[str]]:
    parts = [frozenset(statements(child)) for child in body.children]
    if step.after is None:
        return parts
    for position, part in enumerate(parts):
        if step.after in part:
            first = frozenset[str]().union(*parts[: position + 1])
            return [first, frozenset[str]().union(*parts[position + 1 :])]
    raise ScheduleError(f"statement '{step.after}' is not in the body of loop '{step.loop}'")
