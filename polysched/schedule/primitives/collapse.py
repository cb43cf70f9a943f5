"""collapse: replace two perfectly nested loops by one."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polysched.errors import ScheduleError
from polysched.ir.core.tree import Loop
from polysched.ir.expr.affine import literal
from polysched.schedule.core.program import Program, require_fresh, sequential_loop, value_range


@dataclass(frozen=True)
class Collapse:
    """Step record of :func:`collapse`, which documents the fields."""

    outer: str
    inner: str
    into: str


def collapse(program: Program, step: Collapse) -> Program:
    """Collapse a loop and the loop directly inside it into one loop over their pairs.

    Pairs that are not in the domain of a statement (of a triangular nest, for example) do not run.

    Args:
        outer (str): the outer loop.
        inner (str): the loop directly inside it.
        into (str): name of the new loop.

    before::

        for i in 0..n:
          for j in 0..8: S(i, j)

    after ``collapse("i", "j", "ij")``::

        for ij in 0..8*n: S(ij // 8, ij % 8)

    Checks:
        - Both loops are sequential and have no prefetch, else ``StepError``.
        - The body of ``outer`` is ``inner`` alone, else ``StepError``.
        - The values of ``inner`` lie in a range with literal ends, else ``StepError``.
        - The new name is free around every statement of the loops, else ``StepError``.
        - Legality: always legal; the iterations keep their order.
    """
    outer = sequential_loop(program, step.outer)
    inner = sequential_loop(program, step.inner)
    if outer.body is not inner:
        raise ScheduleError(f"loop '{step.inner}' is not directly inside loop '{step.outer}'")
    require_fresh(program, outer, step.into)
    lowest, highest = value_range(program, inner)
    if lowest is None or highest is None:
        raise ScheduleError(
            f"loop '{step.inner}' cannot be collapsed: its number of iterations grows with a "
            "parameter, and a product of two sizes is not affine; split it by a literal first"
        )
    extent = highest - lowest + 1
    values = {
        name: outer.values[name]
        .scale_val(isl.Val(extent))
        .add(value.add(literal(value.get_domain_space(), -lowest)))
        for name, value in inner.values.items()
    }
    return program.with_node(outer, Loop(step.into, values, inner.body))
