"""Places in loops that are being made from intervals: what the loops around are, and conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

from polysched.ir.expr.affine import weighted_sum
from polysched.ir.expr.expressions import Expression, Index
from polysched.ir.expr.functions import equal
from polysched.ir.expr.linear import Interval, simplify
from polysched.loops.ir.nodes import If, LoopNode, block
from polysched.loops.scan.inequalities import AffineExpr, Box, tightened
from polysched.loops.scan.runs import Run, hull, with_value, without
from polysched.loops.scan.time_sets import NotScannedError


@dataclass(frozen=True, eq=False)
class ScannedContext:
    """A place in the loops that are made.

    Attributes:
        forms: for each loop of the tree around, by depth, its value over the variables in code,
            which are named by the depth of their loop as well.
        variables: the names of these variables.
        known: the range of each.
    """

    forms: Mapping[int, AffineExpr]
    variables: Mapping[int, str]
    known: Box

    def with_value(self, depth: int, value: AffineExpr) -> ScannedContext:
        """Where a loop has one value for each iteration of those around, or of the others."""
        forms = {one: form.with_value(depth, value) for one, form in self.forms.items()}
        return replace(self, forms={**forms, depth: value})

    def inside(self, depth: int, name: str, known: Box) -> ScannedContext:
        """In the body of a loop, where the variables have these ranges."""
        return ScannedContext(
            {**self.forms, depth: AffineExpr(((depth, 1),), 0)},
            {**self.variables, depth: name},
            known,
        )

    def where(self, depth: int, ends: tuple[int, int]) -> ScannedContext:
        """Where a variable lies in a smaller range."""
        return replace(self, known={**self.known, depth: ends})

    @property
    def intervals(self) -> dict[str, Interval]:
        """The ranges by the names of the variables."""
        return {name: self.known[depth] for depth, name in self.variables.items()}

    def expression(self, sum_: AffineExpr) -> Expression:
        """A sum over the variables as an expression."""
        terms = [(many, Index(self.variables[depth])) for depth, many in sum_.terms]
        return weighted_sum(terms, sum_.constant)

    def condition(self, sum_: AffineExpr) -> Expression:
        """The condition that a sum is not negative."""
        if len(sum_.terms) == 1:
            ((depth, factor),) = sum_.terms
            index, value = Index(self.variables[depth]), -factor * sum_.constant
            if abs(factor) == 1:
                if value == self.known[depth][factor > 0]:
                    return equal(index, value)
                return index >= value if factor > 0 else index <= value
        more = AffineExpr(tuple(term for term in sum_.terms if term[1] > 0), max(sum_.constant, 0))
        less = AffineExpr(tuple(term for term in sum_.terms if term[1] < 0), min(sum_.constant, 0))
        return self.expression(less.negated()) <= self.expression(more)


def ranges_where(inequalities: Iterable[AffineExpr], known: Box) -> Box:
    """The ranges of variables where inequalities hold.

    Raises:
        NotScannedError: intervals say that they hold nowhere.
    """
    found = tightened(inequalities, known)
    if found is None:
        raise NotScannedError("intervals leave no iteration of a loop")
    return found.box


@dataclass(frozen=True, eq=False)
class Guarded:
    """Loops that run where all sums are not negative."""

    guards: tuple[AffineExpr, ...]
    body: LoopNode


def guards_of(
    runs: list[Run], place: ScannedContext
) -> tuple[tuple[AffineExpr, ...], list[Run], ScannedContext]:
    """What holds of the loops around for all the runs, and is not known there; the runs and the
    place where it does.
    """
    if not runs:
        return (), runs, place
    around = frozenset(place.variables)
    guards = [
        one
        for one in runs[0].system.inequalities
        if one.variables <= around and all(one in other.system.inequalities for other in runs[1:])
    ]
    if guards:
        runs = [without(run, frozenset(guards)) for run in runs]
        place = replace(place, known=ranges_where(guards, place.known))
    for depth, (low, high) in place.known.items():
        if depth not in runs[0].system.box:
            continue
        ends = hull(runs, depth)
        if ends[0] > low:
            guards.append(AffineExpr(((depth, 1),), -ends[0]))
        if ends[1] < high:
            guards.append(AffineExpr(((depth, -1),), ends[1]))
        place = place.where(depth, (max(low, ends[0]), min(high, ends[1])))
        if ends[0] == ends[1]:
            value = AffineExpr((), ends[0])
            place = place.with_value(depth, value)
            runs = [run for one in runs if (run := with_value(one, depth, value))]
    return tuple(guards), runs, place


def conditional(found: list[Guarded], place: ScannedContext) -> LoopNode:
    """Guarded nodes one after the other, with one condition for neighbors of the same, and two
    branches where one runs if another does not.
    """
    made: list[LoopNode] = []
    position = 0
    while position < len(found):
        guards = found[position].guards
        bodies = []
        while position < len(found) and found[position].guards == guards:
            bodies.append(found[position].body)
            position += 1
        body = block(bodies)
        if not guards:
            made.append(body)
            continue
        otherwise = None
        if len(guards) == 1 and position < len(found):
            follower = found[position]
            if follower.guards == (guards[0].negated().plus(-1),):
                otherwise = follower.body
                position += 1
        condition = simplify(reduce(and_, map(place.condition, guards)), place.intervals)
        made.append(If(condition, body, otherwise))
    return block(made)
