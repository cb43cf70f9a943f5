"""parallel: the iterations of a loop run on several threads."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.errors import ScheduleError
from polysched.ir.tree import Loop, LoopKind, Node, path, rewrite, statements
from polysched.schedule.program import Program, sequential_loop


@dataclass(frozen=True)
class Parallel:
    """Share the iterations of a loop among threads.

    Args:
        loop: the loop. Its iterations may run in any order and at once, so the schedule is legal
            only if none of them depends on another.
    """

    loop: str


def parallel(program: Program, step: Parallel) -> Program:
    """Run the iterations of a loop on several threads; the end of the loop waits for all of them.

    before::

        for i in 0..n: S(i)

    after ``parallel("i")``::

        parallel i in 0..n: S(i)
    """
    loop = sequential_loop(program, step.loop)
    for statement in statements(loop):
        for other in path(program.tree, statement):
            if other is loop:
                break
            if other.kind is LoopKind.VECTOR:
                raise ScheduleError(
                    f"loop '{step.loop}' cannot be parallel: it runs inside the vector loop "
                    f"'{other.name}'; reorder it outside, or make that loop parallel"
                )

    def marked(node: Node) -> Node:
        assert isinstance(node, Loop)
        return replace(node, kind=LoopKind.PARALLEL)

    return program.with_tree(rewrite(program.tree, loop, marked))
