"""split: replace a loop by a loop over chunks and a loop over the iterations of a chunk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import islpy as isl

from polysched.ir.core.tree import Loop
from polysched.schedule.core.program import (
    Program,
    base_name,
    require_fresh,
    require_positive,
    sequential_loop,
)


@dataclass(frozen=True)
class Split:
    """Step record of :func:`split`, which documents the fields."""

    loop: str
    factor: int
    into: tuple[str, str] | None = None


def split(program: Program, step: Split) -> Program:
    """Split a loop into chunks of ``factor`` iterations; the last chunk may be shorter.

    Args:
        loop (str): the loop.
        factor (int): iterations per chunk.
        into (tuple[str, str] | None): names of the outer and the inner loop; by default ``<loop>o``
            and ``<loop>i``.

    before::

        for x in 0..n: S(x)

    after ``split("x", 4)``::

        for xo in 0..ceil(n / 4):
          for xi in 0..min(4, n - 4*xo): S(4*xo + xi)

    Checks:
        - The loop is sequential and has no prefetch, else ``StepError``.
        - ``factor`` is positive, else ``StepError``.
        - The new names are free around every statement of the loop, else ``StepError``.
        - Legality: always legal; the iterations keep their order.
    """
    require_positive(f"the factor of split('{step.loop}')", step.factor)
    loop = sequential_loop(program, step.loop)
    name = base_name(step.loop)
    into = (f"{name}o", f"{name}i") if step.into is None else step.into
    outer, inner = into
    require_fresh(program, loop, outer, inner)
    return program.with_node(loop, split_loop(loop, step.factor, outer, inner))


def split_loop(loop: Loop, factor: int, outer: str, inner: str, **changes: Any) -> Loop:
    """Return the two loops that replace ``loop``; ``changes`` are fields of the inner loop."""
    by = isl.Val(factor)
    return Loop(
        outer,
        {name: value.scale_down_val(by).floor() for name, value in loop.values.items()},
        replace(
            loop,
            name=inner,
            values={name: value.mod_val(by) for name, value in loop.values.items()},
            **changes,
        ),
    )
