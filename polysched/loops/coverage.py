"""Checking what isl generated: every statement instance runs exactly once.

isl's AST generation has been seen to lose instances (a strided triangle in vectors: isl's stride
detection across nested bands). So nothing is taken on trust: the iterations of each assignment are
read back from the loops around it as a set, and their images, the instances, must not overlap and
must add up to the statement's domain. This is translation validation (Pnueli, Siegel, Singerman:
"Translation validation", TACAS 1998) of the one step that polysched does not do itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl

from polysched.ir.expressions import Expression
from polysched.ir.kernel import Statement
from polysched.loops.conditions import range_conditions
from polysched.loops.instances import instance_map
from polysched.loops.nodes import Allocate, Assign, Block, For, If, LoopNode


@dataclass(frozen=True)
class Miscovered:
    """A statement of which the loops run too few, too many or repeated instances."""

    statement: str
    what: str


def miscovered(
    body: LoopNode, statements: Mapping[str, Statement], context: isl.Set
) -> Miscovered | None:
    """The first statement that the loops do not run exactly once for every instance, if any."""
    collector = _Collector(context)
    collector.visit(body, (), ())
    for name, statement in statements.items():
        ran = collector.ran.get(name)
        domain = statement.domain
        if ran is None:
            if not domain.is_empty():
                return Miscovered(name, f"never run {domain.sample_point()}")
        elif not ran.is_equal(domain):
            lost = domain.subtract(ran)
            if not lost.is_empty():
                return Miscovered(name, f"do not run {lost.sample_point()}")
            return Miscovered(name, f"run {ran.subtract(domain).sample_point()} as well")
        if name in collector.repeated:
            return Miscovered(name, f"run {collector.repeated[name].sample_point()} twice")
    return None


class _Collector:
    """Reads the instances that loops run, leaf by leaf."""

    def __init__(self, context: isl.Set) -> None:
        self.context = context
        self.ran: dict[str, isl.Set] = {}
        self.repeated: dict[str, isl.Set] = {}

    def visit(
        self, node: LoopNode, variables: tuple[str, ...], conditions: tuple[Expression, ...]
    ) -> None:
        match node:
            case For(variable=variable, body=body):
                added = range_conditions(node)
                self.visit(body, (*variables, variable), (*conditions, *added))
            case If(condition=condition, then=then, otherwise=otherwise):
                self.visit(then, variables, (*conditions, condition))
                if otherwise is not None:
                    self.visit(otherwise, variables, (*conditions, ~condition))
            case Block(children=children):
                for child in children:
                    self.visit(child, variables, conditions)
            case Allocate(body=body):
                self.visit(body, variables, conditions)
            case Assign():
                self._leaf(node, variables, conditions)

    def _leaf(
        self, node: Assign, variables: tuple[str, ...], conditions: tuple[Expression, ...]
    ) -> None:
        instances = instance_map(node, variables, conditions, self.context)
        image = instances.range()
        if not instances.is_injective():
            self.repeated[node.statement] = image
        earlier = self.ran.get(node.statement)
        if earlier is not None:
            both = earlier.intersect(image)
            if not both.is_empty():
                self.repeated[node.statement] = both
            image = earlier.union(image)
        self.ran[node.statement] = image
