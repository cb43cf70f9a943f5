"""Conditions under which the rows and columns of a register tile run."""

from __future__ import annotations

from polysched.ir.expr.expressions import Constant, Expression, Operation
from polysched.ir.expr.functions import equal
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.linear_form import LinearForm
from polysched.ir.expr.operators import Operator
from polysched.loops.ir.nodes import For
from polysched.vector.classify import literal_lanes
from polysched.vector.passes.columns import Column


def active_lanes(loop: For) -> list[tuple[int, Expression | None]]:
    """The lanes of a vector loop, each with the condition under which it runs, or None."""
    literal = literal_lanes(loop, {})
    if literal is not None:
        return [(lane, None) for lane in literal]
    active: list[tuple[int, Expression | None]] = []
    for lane in range(loop.lanes):
        at = Constant(lane)
        runs = (loop.lower <= at) & (at < loop.upper)
        if loop.step != 1:
            runs &= equal((at - loop.lower) % loop.step, 0)
        active.append((lane, runs))
    return active


def column_mask(columns: list[Column], number: Expression) -> Expression | None:
    """The condition under which column ``number`` runs; None if all columns always run."""
    guards = [column.guard for column in columns]
    if all(guard is None for guard in guards):
        return None
    distance = _common_distance(guards)
    if distance is not None:
        return number < distance
    mask: Expression | None = None
    for position, guard in enumerate(guards):
        here = equal(number, position)
        runs = here if guard is None else here & guard
        mask = runs if mask is None else mask | runs
    return mask


def _common_distance(guards: list[Expression | None]) -> Expression | None:
    """The number of active columns, if every column k has the guard ``k < number``."""
    distances = set()
    for position, guard in enumerate(guards):
        match guard:
            case Operation(operator=Operator.LESS, operands=(left, right)):
                ends = linear_form(left, {}), linear_form(right, {})
            case Operation(operator=Operator.LESS_EQUAL, operands=(left, right)):
                ends = linear_form(left, {}), linear_form(right + 1, {})
            case _:
                return None
        distance = ends[1].plus(ends[0], -1).plus(position)
        terms = tuple(sorted(distance.terms, key=str))
        distances.add(LinearForm(terms, distance.constant))
    return distances.pop().expression() if len(distances) == 1 else None
