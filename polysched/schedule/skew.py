"""skew: a loop's iterations are delayed in proportion to an outer loop."""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from polysched.errors import ScheduleError
from polysched.ir.tree import Loop, Node, rewrite
from polysched.schedule.program import (
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
    """Add ``factor`` times the value of loop ``by`` to the values of ``loop``.

    Args:
        loop: the loop that is skewed.
        by: a loop around it.
        factor: any integer but 0.
        into: the new name of ``loop``; by default it keeps its own.
    """

    loop: str
    by: str
    factor: int = 1
    into: str | None = None


def skew(program: Program, step: Skew) -> Program:
    """Delay every iteration of a loop by ``factor`` times an outer loop's value.

    before::

        for t in 0..T:
          for i in 0..n: S(t, i)

    after ``skew("i", by="t", factor=2)``::

        for t in 0..T:
          for i in 2*t..n + 2*t: S(t, i - 2*t)
    """
    what = f"the factor of skew('{step.loop}')"
    require_moderate(what, step.factor)
    if step.factor == 0:
        raise ScheduleError(f"{what} is 0; expected an integer other than 0")
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

    def skewed(node: Node) -> Node:
        assert isinstance(node, Loop)
        return replace(node, name=name, values=values)

    return program.with_tree(rewrite(program.tree, loop, skewed))
