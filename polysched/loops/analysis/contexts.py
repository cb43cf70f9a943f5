"""Places in loops: what runs around a node, and what holds of the loops' variables there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from polysched.ir.expr.expressions import Expression
from polysched.ir.expr.linear import Intervals
from polysched.loops.analysis.conditions import range_conditions
from polysched.loops.ir.nodes import For, If, LoopNode, children, map_children, variable_interval


@dataclass(frozen=True, eq=False)
class LoopContext:
    """Where a node stands: inside these loops and conditions, the outermost first."""

    around: tuple[For | Expression, ...] = ()

    @cached_property
    def loops(self) -> tuple[For, ...]:
        """The loops around, the outermost first."""
        return tuple(one for one in self.around if isinstance(one, For))

    @cached_property
    def conditions(self) -> tuple[Expression, ...]:
        """What holds of the loops' variables: their ranges, and the conditions around."""
        found: list[Expression] = []
        for one in self.around:
            found += range_conditions(one) if isinstance(one, For) else (one,)
        return tuple(found)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the loops around, the outermost first."""
        return tuple(loop.variable for loop in self.loops)

    def inside(self, loop: For) -> LoopContext:
        """In the body of a loop that stands here."""
        return LoopContext((*self.around, loop))

    def where(self, condition: Expression) -> LoopContext:
        """Where a condition holds."""
        return LoopContext((*self.around, condition))

    def intervals(self, known: Intervals) -> Intervals:
        """Intervals of the variables, beside those ``known`` of the parameters."""
        found = dict(known)
        for loop in self.loops:
            found[loop.variable] = variable_interval(loop.lower, loop.upper, found)
        return found


def below(node: LoopNode, place: LoopContext) -> Iterator[tuple[LoopNode, LoopContext]]:
    """The nodes directly below a node that stands at a place, each with its own place."""
    match node:
        case For(body=body):
            yield body, place.inside(node)
        case If(condition=condition, then=then, otherwise=otherwise):
            yield then, place.where(condition)
            if otherwise is not None:
                yield otherwise, place.where(~condition)
        case _:
            for child in children(node):
                yield child, place


def walk_contexts(node: LoopNode, place: LoopContext) -> Iterator[tuple[LoopNode, LoopContext]]:
    """All nodes with their places, an outer before an inner one."""
    yield node, place
    for child, where in below(node, place):
        yield from walk_contexts(child, where)


def map_below(
    node: LoopNode, place: LoopContext, function: Callable[[LoopNode, LoopContext], LoopNode]
) -> LoopNode:
    """The same node with ``function`` applied to the nodes directly below and their places."""
    places = (where for _, where in below(node, place))
    return map_children(node, lambda child: function(child, next(places)))
