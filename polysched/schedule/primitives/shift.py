"""shift: move the iterations of a loop by a constant, for one statement or for all."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.errors import ScheduleError, suggestion
from polysched.ir.core.tree import statements
from polysched.ir.expr.affine import literal
from polysched.schedule.core.program import Program, require_moderate, sequential_loop


@dataclass(frozen=True)
class Shift:
    """Step record of :func:`shift`, which documents the fields."""

    loop: str
    amount: int
    statement: str | None = None


def shift(program: Program, step: Shift) -> Program:
    """Shift a loop: run each instance of a statement ``amount`` iterations later.

    Args:
        loop (str): the loop.
        amount (int): iterations; a negative amount runs the instances earlier.
        statement (str | None): a statement below the loop; by default all of them.

    before::

        for i in 0..n:
          S(i)
          T(i)

    after ``shift("i", 1, statement="T")``::

        for i in 0..n + 1:
          if i < n: S(i)
          if i >= 1: T(i - 1)

    Checks:
        - The loop is sequential and has no prefetch, else ``StepError``.
        - ``statement`` is below the loop, else ``StepError``.
        - Legality: the moved statement keeps every dependence, else ``IllegalScheduleError``.
    """
    require_moderate(f"the amount of shift('{step.loop}')", step.amount)
    loop = sequential_loop(program, step.loop)
    below = statements(loop)
    if step.statement is not None and step.statement not in below:
        raise ScheduleError(
            f"statement '{step.statement}' is not below loop '{step.loop}'"
            f"{suggestion(step.statement, below)}"
        )
    moved = below if step.statement is None else (step.statement,)
    values = {
        name: value.add(literal(value.get_domain_space(), step.amount)) if name in moved else value
        for name, value in loop.values.items()
    }
    return program.with_node(loop, replace(loop, values=values))
