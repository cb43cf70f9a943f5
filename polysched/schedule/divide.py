"""divide: a loop becomes a number of parts of nearly equal length."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polysched.errors import ScheduleError
from polysched.ir.affine import literal
from polysched.ir.tree import Loop, rewrite
from polysched.schedule.program import (
    Program,
    base_name,
    require_fresh,
    require_positive,
    sequential_loop,
    value_range,
)


@dataclass(frozen=True)
class Divide:
    """Cut a loop in ``parts`` whose lengths differ by at most ``unit`` iterations.

    Args:
        loop: a loop whose first and last value are literals.
        parts: how many; with fewer units than that, some are empty.
        unit: iterations that stay together, counted from the loop's first: those of a tile, say.
        into: name of the loop over the parts; by default ``<loop>p``.
    """

    loop: str
    parts: int
    unit: int = 1
    into: str | None = None


def divide(program: Program, step: Divide) -> Program:
    """Put a loop over parts around a loop, which goes on counting from part to part.

    Unlike the chunks of ``split``, of which the last gets what is left, the parts are shared out
    evenly: 10 units in 4 parts are 3, 2, 3 and 2 of them.

    before::

        for x in 0..10: S(x)

    after ``divide("x", 4)``::

        for xp in 0..4:
          for x in ceil(10*xp / 4)..ceil(10*(xp + 1) / 4): S(x)
    """
    require_positive(f"the number of parts of divide('{step.loop}')", step.parts)
    require_positive(f"the unit of divide('{step.loop}')", step.unit)
    loop = sequential_loop(program, step.loop)
    into = step.into or f"{base_name(step.loop)}p"
    require_fresh(program, loop, into)
    first, last = value_range(program, loop)
    if first is None or last is None:
        raise ScheduleError(
            f"loop '{step.loop}' cannot be cut in {step.parts} parts: where it starts and ends "
            "depends on a parameter; split it by a literal factor"
        )
    units = max(1, -(-(last + 1 - first) // step.unit))
    longest = -(-units // step.parts)
    # Chunks of the longest part are simpler, and as even where only the last is a unit shorter.
    are_chunks = longest * step.parts - units <= 1
    numerator, denominator = (1, longest) if are_chunks else (step.parts, units)

    def part(value: isl.PwAff) -> isl.PwAff:
        offset = value.sub(literal(value.get_domain_space(), first))
        unit = offset.scale_down_val(isl.Val(step.unit)).floor()
        return unit.scale_val(isl.Val(numerator)).scale_down_val(isl.Val(denominator)).floor()

    parts = Loop(into, {name: part(value) for name, value in loop.values.items()}, loop)
    return program.with_tree(rewrite(program.tree, loop, lambda _: parts))
