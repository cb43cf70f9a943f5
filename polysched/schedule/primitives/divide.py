"""divide: cut a loop into a given number of parts of nearly equal length."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polysched.errors import ScheduleError
from polysched.ir.core.tree import Loop
from polysched.ir.expr.affine import literal
from polysched.schedule.core.program import (
    Program,
    base_name,
    require_fresh,
    require_positive,
    sequential_loop,
    value_range,
)


@dataclass(frozen=True)
class Divide:
    """Step record of :func:`divide`, which documents the fields."""

    loop: str
    parts: int
    unit: int = 1
    into: str | None = None


def divide(program: Program, step: Divide) -> Program:
    """Divide a loop into ``parts`` parts whose lengths differ by at most ``unit`` iterations.

    ``divide`` puts a loop over the parts around the loop, whose own values do not change. ``split``
    fixes the length of a chunk and leaves the rest to the last one. ``divide`` fixes the number of
    parts and shares the iterations out evenly: 10 units in 4 parts are 3, 2, 3 and 2 units.

    Args:
        loop (str): the loop.
        parts (int): the number of parts. If the loop has fewer units, some parts are empty.
        unit (int): the length in iterations of the groups that are never cut, counted from the
            loop's first value; for example the length of a tile.
        into (str | None): name of the loop over the parts; by default ``<loop>p``.

    before::

        for x in 0..10: S(x)

    after ``divide("x", 4)``::

        for xp in 0..4:
          for x in ceil(10*xp / 4)..ceil(10*(xp + 1) / 4): S(x)

    Checks:
        - The loop is sequential and has no prefetch, else ``StepError``.
        - Its first and last value are literals, else ``StepError``.
        - ``parts`` and ``unit`` are positive, else ``StepError``.
        - The new name is free around every statement of the loop, else ``StepError``.
        - Legality: always legal; the iterations keep their order.
    """
    require_positive(f"the number of parts of divide('{step.loop}')", step.parts)
    require_positive(f"the unit of divide('{step.loop}')", step.unit)
    loop = sequential_loop(program, step.loop)
    into = step.into or f"{base_name(step.loop)}p"
    require_fresh(program, loop, into)
    first, last = value_range(program, loop)
    if first is None or last is None:
        raise ScheduleError(
            f"loop '{step.loop}' cannot be divided into {step.parts} parts: its first or last "
            "value depends on a parameter; split it by a literal factor"
        )
    units = max(1, -(-(last + 1 - first) // step.unit))
    longest = -(-units // step.parts)
    # If only the last part is a unit shorter, chunks of the longest part are as even and simpler.
    are_chunks = longest * step.parts - units <= 1
    numerator, denominator = (1, longest) if are_chunks else (step.parts, units)

    def part(value: isl.PwAff) -> isl.PwAff:
        offset = value.sub(literal(value.get_domain_space(), first))
        unit = offset.scale_down_val(isl.Val(step.unit)).floor()
        return unit.scale_val(isl.Val(numerator)).scale_down_val(isl.Val(denominator)).floor()

    parts = Loop(into, {name: part(value) for name, value in loop.values.items()}, loop)
    return program.with_node(loop, parts)
