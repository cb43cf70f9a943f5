"""skew: delay the iterations of a loop in proportion to an outer loop's value."""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from polysched.errors import ScheduleError
from polysched.schedule.core.program import (
    Program,
    base_name,
    find_loop,
    prefix_loops,
    require_fresh,
    require_moderate,
    sequential_loop,
)


@dataclass(frozen=True)
class Skew:
    """Step record of :func:`skew`, which documents the fields."""

    loop: str
    by: str
    factor: int = 1
    into: str | None = None


def skew(program: Program, step: Skew) -> Program:
    """Skew a loop: add ``factor`` times the value of an outer loop to its values.

    Skewing alone changes no order. It makes a later ``reorder``, ``tile`` or ``parallel`` legal, as
    in wavefront schedules.

    Args:
        loop (str): the loop to skew.
        by (str): a loop around it.
        factor (int): any integer but 0.
        into (str | None): new name of the loop; by default it keeps its name.

    before::

        for t in 0..T:
          for i in 0..n: S(t, i)

    after ``skew("i", by="t", factor=2)``::

        for t in 0..T:
          for i in 2*t..n + 2*t: S(t, i - 2*t)

    Checks:
        - ``loop`` is sequential and has no prefetch, else ``StepError``.
        - ``by`` is around ``loop``, else ``StepError``.
        - ``factor`` is not 0, else ``StepError``.
        - A new name is free around every statement of the loop, else ``StepError``.
        - Legality: always legal; the iterations keep their order.
    """
    factor_name = f"the factor of skew('{step.loop}')"
    require_moderate(factor_name, step.factor)
    if step.factor == 0:
        raise ScheduleError(f"{factor_name} is 0; expected an integer other than 0")
    loop = sequential_loop(program, step.loop)
    outer = find_loop(program, step.by)
    if outer is loop or not any(outer is around for around in prefix_loops(program, loop)):
        raise ScheduleError(f"loop '{step.by}' is not around loop '{step.loop}'")
    factor = isl.Val(step.factor)
    values = {
        name: value.add(outer.values[name].scale_val(factor)) for name, value in loop.values.items()
    }
    name = step.into or base_name(step.loop)
    if name != loop.name:
        require_fresh(program, loop, name)
    return program.with_node(loop, replace(loop, name=name, values=values))
