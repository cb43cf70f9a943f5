"""The generated loops around a node, and conditions over their variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

from polysched.ir.expr.affine import weighted_sum
from polysched.ir.expr.expressions import Expression, Index
from polysched.ir.expr.functions import equal
from polysched.ir.expr.linear import simplify
from polysched.ir.expr.linear_form import Interval
from polysched.loops.ir.nodes import If, LoopNode, block
from polysched.loops.scan.inequalities import AffineExpr, Box, tightened
from polysched.loops.scan.runs import Run, hull, with_value, without
from polysched.loops.scan.time_sets import NotScannedError


@dataclass(frozen=True, eq=False)
class ScannedContext:
    """The loops around a node of the schedule tree, some of which are loops in the code.

    Attributes:
        forms: for each loop around, by depth, its value as a sum over the loops in the code.
        variables: for each loop in the code, by depth, the name of its variable.
        known: for each loop in the code, by depth, the range of its variable.
    """

    forms: Mapping[int, AffineExpr]
    variables: Mapping[int, str]
    known: Box

    def with_value(self, depth: int, value: AffineExpr) -> ScannedContext:
        """The context where a loop's value is a sum of the other variables."""
        forms = {other: form.with_value(depth, value) for other, form in self.forms.items()}
        return replace(self, forms={**forms, depth: value})

    def inside(self, depth: int, name: str, known: Box) -> ScannedContext:
        """The context in the body of a new loop, with the ranges of all variables there."""
        return ScannedContext(
            {**self.forms, depth: AffineExpr(((depth, 1),), 0)},
            {**self.variables, depth: name},
            known,
        )

    def where(self, depth: int, ends: tuple[int, int]) -> ScannedContext:
        """The context where a variable is restricted to a range."""
        return replace(self, known={**self.known, depth: ends})

    @property
    def intervals(self) -> dict[str, Interval]:
        """The ranges of the variables, by name."""
        return {name: self.known[depth] for depth, name in self.variables.items()}

    def expression(self, sum_: AffineExpr) -> Expression:
        """A sum as an expression over the variables."""
        terms = [(many, Index(self.variables[depth])) for depth, many in sum_.terms]
        return weighted_sum(terms, sum_.constant)

    def condition(self, sum_: AffineExpr) -> Expression:
        """The condition ``sum >= 0``, written with positive terms on both sides."""
        if len(sum_.terms) == 1:
            ((depth, factor),) = sum_.terms
            index, value = Index(self.variables[depth]), -factor * sum_.constant
            if abs(factor) == 1:
                if value == self.known[depth][factor > 0]:
                    return equal(index, value)
                return index >= value if factor > 0 else index <= value
        more = AffineExpr(tuple(term for term in sum_.terms if term[1] > 0), max(sum_.constant, 0))
        less = AffineExpr(tuple(term for term in sum_.terms if term[1] < 0), min(sum_.constant, 0))
        return self.expression(less.times(-1)) <= self.expression(more)


def ranges_where(inequalities: Iterable[AffineExpr], known: Box) -> Box:
    """The ranges of variables at points that fulfill inequalities.

    Raises:
        NotScannedError: no point does.
    """
    system = tightened(inequalities, known)
    if system is None:
        raise NotScannedError("intervals leave no iteration of a loop")
    return system.box


@dataclass(frozen=True, eq=False)
class Guarded:
    """A node that is executed where all guards are nonnegative."""

    guards: tuple[AffineExpr, ...]
    body: LoopNode


def guards_of(
    runs: list[Run], context: ScannedContext
) -> tuple[tuple[AffineExpr, ...], list[Run], ScannedContext]:
    """Find the conditions on the loops around under which any of the statements runs.

    Returns:
        The conditions that the context does not imply, and the statements and the context where
        the conditions hold.
    """
    if not runs:
        return (), runs, context
    around = frozenset(context.variables)
    guards = [
        inequality
        for inequality in runs[0].system.inequalities
        if inequality.variables <= around
        and all(inequality in other.system.inequalities for other in runs[1:])
    ]
    if guards:
        runs = [without(run, frozenset(guards)) for run in runs]
        context = replace(context, known=ranges_where(guards, context.known))
    for depth, (low, high) in context.known.items():
        if depth not in runs[0].system.box:
            continue
        ends = hull(runs, depth)
        if ends[0] > low:
            guards.append(AffineExpr(((depth, 1),), -ends[0]))
        if ends[1] < high:
            guards.append(AffineExpr(((depth, -1),), ends[1]))
        context = context.where(depth, (max(low, ends[0]), min(high, ends[1])))
        if ends[0] == ends[1]:
            value = AffineExpr((), ends[0])
            context = context.with_value(depth, value)
            runs = [inner for run in runs if (inner := with_value(run, depth, value))]
    return tuple(guards), runs, context


def conditional(sequence: list[Guarded], context: ScannedContext) -> LoopNode:
    """Write a sequence of guarded nodes with ``if`` statements.

    Neighbors with equal guards share an ``if``. A neighbor whose guard is the negation becomes the
    ``else`` branch.
    """
    nodes: list[LoopNode] = []
    position = 0
    while position < len(sequence):
        guards = sequence[position].guards
        bodies = []
        while position < len(sequence) and sequence[position].guards == guards:
            bodies.append(sequence[position].body)
            position += 1
        body = block(bodies)
        if not guards:
            nodes.append(body)
            continue
        otherwise = None
        if len(guards) == 1 and position < len(sequence):
            follower = sequence[position]
            if follower.guards == (guards[0].times(-1).plus(-1),):
                otherwise = follower.body
                position += 1
        condition = simplify(reduce(and_, map(context.condition, guards)), context.intervals)
        nodes.append(If(condition, body, otherwise))
    return block(nodes)
