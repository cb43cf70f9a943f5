"""Bounds of a generated loop from the inequalities of the statements in it."""

from __future__ import annotations

from polysched.ir.expr.expressions import Constant, Expression
from polysched.ir.expr.functions import maximum, minimum
from polysched.ir.expr.linear import simplify
from polysched.loops.scan.inequalities import AffineExpr, System, not_negative
from polysched.loops.scan.runs import Run, hull
from polysched.loops.scan.scanned_context import ScannedContext


def only_value(runs: list[Run], depth: int) -> AffineExpr | None:
    """The value of a loop that runs once, over the variables of the loops around; else None."""
    low, high = hull(runs, depth)
    if low == high:
        return AffineExpr((), low)
    by_run = [frozenset(run.system.inequalities) for run in runs]
    for inequality in runs[0].system.inequalities:
        factor = inequality.coefficient(depth)
        if abs(factor) != 1 or any(variable > depth for variable in inequality.variables):
            continue
        if all({inequality, inequality.times(-1)} <= inequalities for inequalities in by_run):
            rest = inequality.without(depth)
            return rest.times(-1) if factor > 0 else rest
    return None


def common_bounds(runs: list[Run], depth: int) -> tuple[AffineExpr, ...] | None:
    """Bounds of a loop by the loops around it, wide enough for all statements inside.

    Returns:
        Inequalities; None if the statements are bounded by different sums.
    """
    by_run = [_bounds_of(run, depth) for run in runs]
    if any(bounds.keys() != by_run[0].keys() for bounds in by_run):
        return None
    return tuple(AffineExpr(terms, max(bounds[terms] for bounds in by_run)) for terms in by_run[0])


def _bounds_of(run: Run, depth: int) -> dict[tuple[tuple[int, int], ...], int]:
    """Project the inequalities of a statement to a loop and the loops around it.

    Returns:
        For each sum of terms its least constant.
    """
    bounds: dict[tuple[tuple[int, int], ...], int] = {}
    for inequality in run.system.inequalities:
        if inequality.coefficient(depth):
            bound = not_negative(_projected(inequality, depth, run.system))
            if bound.least(run.system.box) < 0:
                tightest = bounds.get(bound.terms, bound.constant)
                bounds[bound.terms] = min(tightest, bound.constant)
    return bounds


def _projected(inequality: AffineExpr, depth: int, system: System) -> AffineExpr:
    """The greatest value of a sum for given values of the variables up to ``depth``."""
    inside = frozenset(variable for variable in inequality.variables if variable > depth)
    highest = inequality.at_extreme(inside, system.box, greatest=True)
    # The box of the inner variables may reach beyond a block, though no instance does: an
    # inequality over the same inner terms may bound them more tightly.
    part = tuple((variable, -factor) for variable, factor in inequality.terms if variable in inside)
    limits = [other.constant for other in system.inequalities if part and other.terms == part]
    constant = min((highest.constant, *(inequality.constant + limit for limit in limits)))
    return AffineExpr(highest.terms, constant)


def range_ends(
    context: ScannedContext, depth: int, ends: tuple[int, int], bounds: tuple[AffineExpr, ...]
) -> tuple[Expression, Expression]:
    """The lower bound and the exclusive upper bound of a loop, as expressions."""
    lower: Expression = Constant(ends[0])
    upper: Expression = Constant(ends[1])
    for bound in bounds:
        factor, rest = bound.coefficient(depth), context.expression(bound.without(depth))
        # factor * v + rest >= 0
        if factor > 0:
            lower = maximum(lower, (factor - 1 - rest) // factor if factor > 1 else -rest)
        else:
            upper = minimum(upper, rest // -factor if factor < -1 else rest)
    known = context.intervals
    return simplify(lower, known), simplify(upper + 1, known)
