"""Conditions on the parameters of a kernel, as expressions and as text."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polysched.errors import LoweringError
from polysched.ir.core.limits import limited
from polysched.ir.expr.affine import from_aff, from_set
from polysched.ir.expr.comparisons import comparison_text
from polysched.ir.expr.expressions import Constant, Expression
from polysched.ir.expr.functions import equal
from polysched.ir.expr.linear import linear_form


@dataclass(frozen=True)
class Condition:
    """A condition on the parameters that each call must satisfy, and its text for messages."""

    expression: Expression
    text: str


@limited(LoweringError, "the conditions on the parameters are too intricate to be checked at calls")
def conditions_of(context: isl.Set) -> tuple[Condition, ...]:
    """The conditions that are satisfied together exactly by the parameters in ``context``.

    A union of several polyhedra gives one condition. A single polyhedron gives one condition for
    each constraint.

    Raises:
        LoweringError: isl exceeds its limits.
    """
    domain = context.params().from_params().compute_divs().coalesce()
    polyhedra = [_constraints(polyhedron) for polyhedron in domain.get_basic_sets()]
    if len(polyhedra) == 1:
        return polyhedra[0]
    text = " or ".join(" and ".join(condition.text for condition in each) for each in polyhedra)
    return (Condition(from_set(domain), text or "False"),)


def context_text(context: isl.Set) -> str:
    """The conditions of a context in one line; empty if all parameters are allowed."""
    return " and ".join(condition.text for condition in conditions_of(context))


def _constraints(polyhedron: isl.BasicSet) -> tuple[Condition, ...]:
    return tuple(map(_condition, polyhedron.remove_redundancies().get_constraints()))


def _condition(constraint: isl.Constraint) -> Condition:
    value, equality = from_aff(constraint.get_aff()), constraint.is_equality()
    return Condition(
        equal(value, Constant(0)) if equality else value >= Constant(0),
        comparison_text(linear_form(value, {}), equality=equality),
    )
