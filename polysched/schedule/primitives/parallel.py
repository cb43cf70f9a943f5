"""parallel: run the iterations of a loop on several threads."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.errors import ScheduleError
from polysched.ir.core.tree import LoopKind, path, statements
from polysched.schedule.core.program import Program, sequential_loop


@dataclass(frozen=True)
class Parallel:
    """Step record of :func:`parallel`, which documents the field."""

    loop: str


def parallel(program: Program, step: Parallel) -> Program:
    """Parallelize a loop: share its iterations among threads.

    The end of the loop waits for all threads.

    Args:
        loop (str): the loop.

    before::

        for i in 0..n: S(i)

    after ``parallel("i")``::

        parallel i in 0..n: S(i)

    Checks:
        - The loop is sequential and has no prefetch, else ``StepError``.
        - The loop is not inside a vector loop, else ``StepError``.
        - Legality: the loop carries no dependence, and no two of its iterations share a byte of a
          packed array that one of them writes, else ``IllegalScheduleError``.
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
    return program.with_node(loop, replace(loop, kind=LoopKind.PARALLEL))
