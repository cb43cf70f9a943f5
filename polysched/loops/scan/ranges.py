"""The range of a loop by inequalities: its one value, or its ends."""

from __future__ import annotations

from polysched.ir.expr.expressions import Constant, Expression
from polysched.ir.expr.functions import maximum, minimum
from polysched.ir.expr.linear import simplify
from polysched.loops.scan.inequalities import AffineExpr, System, not_negative
from polysched.loops.scan.runs import Run, hull
from polysched.loops.scan.scanned_context import ScannedContext


def only_value(runs: list[Run], depth: int) -> AffineExpr | None:
    """The one value that a loop has in each iteration of those around it."""
    low, high = hull(runs, depth)
    if low == high:
        return AffineExpr((), low)
    demanded = [frozenset(run.system.inequalities) for run in runs]
    for one in runs[0].system.inequalities:
        factor = one.coefficient(depth)
        if abs(factor) != 1 or any(variable > depth for variable in one.variables):
            continue
        if all(one in found and one.negated() in found for found in demanded):
            rest = one.without(depth)
            return rest.negated() if factor > 0 else rest
    return None


def common_bounds(runs: list[Run], depth: int) -> tuple[AffineExpr, ...] | None:
    """The inequalities between a loop and those around it that hold in all runs; None if some run
    is not bound by the others' at all.
    """
    found = [_bounds_of(run, depth) for run in runs]
    if any(one.keys() != found[0].keys() for one in found):
        return None
    return tuple(AffineExpr(terms, max(one[terms] for one in found)) for terms in found[0])


def _bounds_of(run: Run, depth: int) -> dict[tuple[tuple[int, int], ...], int]:
    """What the inequalities demand of a loop and those around it, whatever runs inside: the least
    constant for each sum of terms.
    """
    found: dict[tuple[tuple[int, int], ...], int] = {}
    for one in run.system.inequalities:
        if one.coefficient(depth):
            bound = not_negative(_outer(one, depth, run.system))
            if bound.least(run.system.box) < 0:
                known = found.get(bound.terms, bound.constant)
                found[bound.terms] = min(known, bound.constant)
    return found


def _outer(one: AffineExpr, depth: int, system: System) -> AffineExpr:
    """The greatest value of a sum over a loop and those around and inside, whatever runs inside."""
    inside = frozenset(variable for variable in one.variables if variable > depth)
    found = one.at_extreme(inside, system.box, greatest=True)
    # The tiles in a block may reach beyond it, though no instance does.
    part = tuple((variable, -factor) for variable, factor in one.terms if variable in inside)
    limits = [other.constant for other in system.inequalities if part and other.terms == part]
    return AffineExpr(
        found.terms, min((found.constant, *(one.constant + limit for limit in limits)))
    )


def range_ends(
    place: ScannedContext, depth: int, ends: tuple[int, int], bounds: tuple[AffineExpr, ...]
) -> tuple[Expression, Expression]:
    """The lower and the exclusive upper end of a loop."""
    lower: Expression = Constant(ends[0])
    upper: Expression = Constant(ends[1])
    for bound in bounds:
        factor, rest = bound.coefficient(depth), place.expression(bound.without(depth))
        # factor * v + rest >= 0
        if factor > 0:
            lower = maximum(lower, (factor - 1 - rest) // factor if factor > 1 else -rest)
        else:
            upper = minimum(upper, rest // -factor if factor < -1 else rest)
    known = place.intervals
    return simplify(lower, known), simplify(upper + 1, known)
