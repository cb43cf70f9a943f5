"""split: one loop becomes two."""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from polysched.ir.tree import Loop, rewrite
from polysched.schedule.program import (
    Program,
    base_name,
    require_fresh,
    require_positive,
    sequential_loop,
)


@dataclass(frozen=True)
class Split:
    """Cut a loop into chunks of ``factor`` iterations.

    Args:
        loop: the loop.
        factor: iterations a chunk, a positive literal.
        into: names of the outer and the inner loop; by default ``<loop>o`` and ``<loop>i``.
    """

    loop: str
    factor: int
    into: tuple[str, str] | None = None


def split(program: Program, step: Split) -> Program:
    """Cut a loop into an outer loop over chunks and an inner loop over the iterations of a chunk.

    before::

        for x in 0..n: S(x)

    after ``split("x", 4)``::

        for xo in 0..ceil(n / 4):
          for xi in 0..min(4, n - 4*xo): S(4*xo + xi)
    """
    require_positive(f"the factor of split('{step.loop}')", step.factor)
    loop = sequential_loop(program, step.loop)
    name = base_name(step.loop)
    into = (f"{name}o", f"{name}i") if step.into is None else step.into
    outer, inner = into
    require_fresh(program, loop, outer, inner)
    return program.with_tree(
        rewrite(program.tree, loop, lambda _: split_loop(loop, step.factor, outer, inner))
    )


def split_loop(loop: Loop, factor: int, outer: str, inner: str) -> Loop:
    """The two loops that replace ``loop``."""
    by = isl.Val(factor)
    return Loop(
        outer,
        {name: value.scale_down_val(by).floor() for name, value in loop.values.items()},
        replace(
            loop,
            name=inner,
            values={name: value.mod_val(by) for name, value in loop.values.items()},
        ),
    )
