"""fuse: replace two adjacent loops by one that runs both bodies."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.errors import ScheduleError
from polysched.ir.core.tree import Loop, Sequence, path, sequence, statements
from polysched.schedule.core.program import Program, base_name, parent_of, sequential_loop


@dataclass(frozen=True)
class Fuse:
    """Step record of :func:`fuse`, which documents the fields."""

    first: str
    second: str
    into: str | None = None


def fuse(program: Program, step: Fuse) -> Program:
    """Fuse a loop and the loop directly after it into one loop over the union of their values.

    Args:
        first (str): the first loop.
        second (str): the loop directly after it.
        into (str | None): name of the fused loop; by default the name of ``first``.

    before::

        for i in 0..n: S(i)
        for j in 0..m: T(j)

    after ``fuse("i", "j", into="k")``::

        for k in 0..max(n, m):
          if k < n: S(k)
          if k < m: T(k)

    Checks:
        - Both loops are sequential and have no prefetch, else ``StepError``.
        - ``second`` directly follows ``first`` in the same loop body, else ``StepError``.
        - The name is free around every statement of both loops, else ``StepError``.
        - Legality: no iteration of ``second`` moves before an iteration of ``first`` on which it
          depends, else ``IllegalScheduleError``.
    """
    first = sequential_loop(program, step.first)
    second = sequential_loop(program, step.second)
    parent = parent_of(program.tree, first)
    if not isinstance(parent, Sequence) or not _follows(parent, first, second):
        raise ScheduleError(
            f"loop '{step.second}' does not stand directly after loop '{step.first}'; fuse the "
            "loops around them first, or distribute what stands between"
        )
    name = step.into or base_name(step.first)
    for statement in (*statements(first), *statements(second)):
        _require_unused(program, statement, name, first, second)
    merged = Loop(name, {**first.values, **second.values}, sequence([first.body, second.body]))
    children = [child for child in parent.children if child is not second]
    joined = sequence([merged if child is first else child for child in children])
    return program.with_node(parent, joined)


def _follows(parent: Sequence, first: Loop, second: Loop) -> bool:
    pairs = zip(parent.children, parent.children[1:], strict=False)
    return any(a is first and b is second for a, b in pairs)


def _require_unused(program: Program, statement: str, name: str, *fused: Loop) -> None:
    for loop in path(program.tree, statement):
        if loop.name == name and not any(loop is other for other in fused):
            raise ScheduleError(f"loop name '{name}' is taken around statement '{statement}'")
