"""reverse: run a loop backwards."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.schedule.core.program import Program, sequential_loop


@dataclass(frozen=True)
class Reverse:
    """Step record of :func:`reverse`, which documents the field."""

    loop: str


def reverse(program: Program, step: Reverse) -> Program:
    """Reverse a loop: negate its values, so that the last iteration runs first.

    Args:
        loop (str): the loop.

    before::

        for i in 0..n: S(i)

    after ``reverse("i")``::

        for i in -n + 1..1: S(-i)

    Checks:
        - The loop is sequential and has no prefetch, else ``StepError``.
        - Legality: the loop carries no dependence, else ``IllegalScheduleError``.
    """
    loop = sequential_loop(program, step.loop)
    values = {name: value.neg() for name, value in loop.values.items()}
    return program.with_node(loop, replace(loop, values=values))
