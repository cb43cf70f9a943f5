"""tile: split the loops of a perfect nest and move the chunk loops outside."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.errors import ScheduleError
from polysched.schedule.core.program import Program, base_name
from polysched.schedule.primitives.reorder import Reorder, reorder
from polysched.schedule.primitives.split import Split, split


@dataclass(frozen=True)
class Tile:
    """Step record of :func:`tile`, which documents the fields."""

    loops: tuple[str, ...]
    factors: tuple[int, ...]
    outer: tuple[str, ...] | None = None
    inner: tuple[str, ...] | None = None


def tile(program: Program, step: Tile) -> Program:
    """Tile a perfect nest: split each loop by its factor and move all outer loops outside.

    Args:
        loops (tuple[str, ...]): loops of one perfect nest, the outermost first.
        factors (tuple[int, ...]): iterations per tile of each loop.
        outer (tuple[str, ...] | None): names of the loops over tiles; by default ``<loop>o``.
        inner (tuple[str, ...] | None): names of the loops inside a tile; by default ``<loop>i``.

    before::

        for i in 0..n:
          for j in 0..m: S(i, j)

    after ``tile(("i", "j"), (4, 8))``::

        for io in 0..ceil(n / 4):
          for jo in 0..ceil(m / 8):
            for ii in 0..min(4, n - 4*io):
              for ji in 0..min(8, m - 8*jo): S(4*io + ii, 8*jo + ji)

    Checks:
        - There is at least one loop, and one factor and one pair of names per loop, else
          ``StepError``.
        - Each loop can be split by its factor (see ``split``), else ``StepError``.
        - The loops form one perfect nest, else ``StepError``.
        - Legality: the reordered nest keeps every dependence, else ``IllegalScheduleError``.
    """
    if not step.loops:
        raise ScheduleError("tile() names no loop; expected at least one")
    names = [base_name(loop) for loop in step.loops]
    outer = step.outer or tuple(f"{name}o" for name in names)
    inner = step.inner or tuple(f"{name}i" for name in names)
    if not len(step.loops) == len(step.factors) == len(outer) == len(inner):
        raise ScheduleError(
            f"tile of {len(step.loops)} loops needs as many factors and names; got "
            f"{len(step.factors)} factors, {len(outer)} outer and {len(inner)} inner names"
        )
    for loop, factor, into in zip(
        step.loops, step.factors, zip(outer, inner, strict=True), strict=True
    ):
        program = split(program, Split(loop, factor, into))
    prefixes = [loop.rpartition(".")[0] for loop in step.loops]
    order = [
        f"{prefix}.{name}" if prefix else name
        for group in (outer, inner)
        for prefix, name in zip(prefixes, group, strict=True)
    ]
    return reorder(program, Reorder(tuple(order)))
