"""Loop contexts: the loops and conditions around a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from polysched.ir.expr.expressions import Expression
from polysched.ir.expr.linear_form import Intervals
from polysched.loops.ir.nodes import For, If, LoopNode, children, map_children, variable_interval


@dataclass(frozen=True, eq=False)
class LoopContext:
    """The loops and conditions around a node, the outermost first."""

    around: tuple[For | Expression, ...] = ()

    @cached_property
    def loops(self) -> tuple[For, ...]:
        """The loops around, the outermost first."""
        return tuple(node for node in self.around if isinstance(node, For))

    def inside(self, loop: For) -> LoopContext:
        """The context in the body of a loop."""
        return LoopContext((*self.around, loop))

    def where(self, condition: Expression) -> LoopContext:
        """The context where a condition holds."""
        return LoopContext((*self.around, condition))

    def intervals(self, known: Intervals) -> Intervals:
        """The intervals of the loops' variables, added to those of the parameters."""
        intervals = dict(known)
        for loop in self.loops:
            intervals[loop.variable] = variable_interval(loop.lower, loop.upper, intervals)
        return intervals


def below(node: LoopNode, context: LoopContext) -> Iterator[tuple[LoopNode, LoopContext]]:
    """The nodes directly below a node, each with its context."""
    match node:
        case For(body=body):
            yield body, context.inside(node)
        case If(condition=condition, then=then, otherwise=otherwise):
            yield then, context.where(condition)
            if otherwise is not None:
                yield otherwise, context.where(~condition)
        case _:
            for child in children(node):
                yield child, context


def walk_contexts(node: LoopNode, context: LoopContext) -> Iterator[tuple[LoopNode, LoopContext]]:
    """All nodes with their contexts, outer nodes before inner ones."""
    yield node, context
    for child, inner in below(node, context):
        yield from walk_contexts(child, inner)


def map_below(
    node: LoopNode, context: LoopContext, function: Callable[[LoopNode, LoopContext], LoopNode]
) -> LoopNode:
    """Apply ``function`` to the nodes directly below a node and their contexts."""
    contexts = (inner for _, inner in below(node, context))
    return map_children(node, lambda child: function(child, next(contexts)))
