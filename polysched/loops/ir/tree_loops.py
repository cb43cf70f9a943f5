"""Loops of the schedule tree as loops of the loop IR."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from polysched.ir.core.tree import Loop, LoopKind
from polysched.ir.expr.expressions import Expression
from polysched.ir.expr.linear_form import UNBOUNDED, Interval, Intervals
from polysched.loops.ir.nodes import For, LoopNode
from polysched.loops.ir.prefetches import PrefetchSpec


def tree_loop(
    loop: Loop,
    variable: str,
    ends: tuple[Expression, Expression],
    body: LoopNode,
    values: Interval,
    step: int = 1,
) -> For:
    """Generate a loop of the tree.

    Args:
        ends: its lower bound and its exclusive upper bound.
        values: literal bounds of the variable, which are kept for an unrolled loop.
    """
    lower, upper = ends
    kept = values if loop.kind is LoopKind.UNROLLED else UNBOUNDED
    made = For(variable, loop.name, lower, upper, step, loop.kind, body, loop.lanes, kept)
    return replace(made, transposition=loop.transposition, instruction=loop.instruction)


def with_prefetches(
    loop: For,
    specs: tuple[PrefetchSpec, ...],
    values: Mapping[str, Expression],
    steps: Mapping[str, int],
    known: Intervals,
) -> For:
    """Add prefetches to a generated loop; the arguments are those of `PrefetchSpec.made`."""
    prefetches = tuple(spec.made(loop, values, steps, known) for spec in specs)
    return replace(loop, prefetches=prefetches) if prefetches else loop


def fresh_name(name: str, taken: Collection[str]) -> str:
    """A name that is not taken: the given one with as many underscores as that needs."""
    while name in taken:
        name += "_"
    return name
