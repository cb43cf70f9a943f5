"""Conditions on a loop's variable, in a form that isl decides without case distinctions."""

from __future__ import annotations

from math import gcd

from polysched.ir.expr.expressions import Constant, Expression, Index, Operation
from polysched.ir.expr.functions import equal
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.linear_form import LinearForm
from polysched.ir.expr.operators import Operator
from polysched.loops.ir.nodes import For


def range_conditions(loop: For) -> tuple[Expression, ...]:
    """The conditions that a loop's variable fulfills in the body, from the bounds and the step."""
    index = Index(loop.variable)
    ends = (*at_least(index, loop.lower), *at_most(index, loop.upper - 1))
    return ends if loop.step == 1 else (*ends, equal((index - loop.lower) % loop.step, 0))


def bound_conditions(loop: For) -> tuple[Expression, ...]:
    """The literal bounds of a loop's variable that the loop's own bounds do not obviously imply."""
    index = Index(loop.variable)
    first, last = loop.bounds
    claims: tuple[Expression, ...] = ()
    if first is not None and not _is_at_least(loop.lower, first):
        claims += (first <= index,)
    if last is not None and not _is_at_least(-loop.upper, -last - 1):
        claims += (index <= last,)
    return claims


def as_condition(form: LinearForm) -> Expression:
    """The condition ``form <= 0``, written with positive terms on both sides."""
    more = tuple(term for term in form.terms if term[1] > 0)
    less = tuple((atom, -coefficient) for atom, coefficient in form.terms if coefficient < 0)
    left = LinearForm(more, max(form.constant, 0))
    return left.expression() <= LinearForm(less, max(-form.constant, 0)).expression()


def _is_at_least(bound: Expression, number: int) -> bool:
    form = linear_form(bound, {})
    return form.is_constant and form.constant >= number


def at_most(index: Index, bound: Expression) -> tuple[Expression, ...]:
    """The condition ``index <= bound`` as affine inequalities without minima and floors, if
    possible.

    ``i <= min(a, b)`` is two inequalities, and ``i <= floor(e / d) + r`` is ``d * (i - r) <= e``:
    isl decides them without case distinctions and without unknowns of its own.
    """
    return tuple(
        form.expression() <= 0
        for form in not_positive(LinearForm(((index, 1),), 0).plus(linear_form(bound, {}), -1))
    )


def at_least(index: Index, bound: Expression) -> tuple[Expression, ...]:
    """The condition ``index >= bound`` in the same way, with maxima and rounding up."""
    return tuple(
        form.expression() <= 0
        for form in not_positive(linear_form(bound, {}).plus(LinearForm(((index, 1),), 0), -1))
    )


def not_positive(form: LinearForm) -> list[LinearForm]:
    """Forms that are all at most 0 exactly where ``form`` is; extrema and floors are split."""
    form = reduced(form)
    for atom, coefficient in form.terms:
        match atom:
            case Operation(operator=Operator.MAXIMUM, operands=operands) if coefficient > 0:
                pass
            case Operation(operator=Operator.MINIMUM, operands=operands) if coefficient < 0:
                pass
            case Operation(
                operator=Operator.FLOOR_DIVIDE, operands=(dividend, Constant(value=divisor))
            ) if abs(coefficient) == 1:
                # rest - floor(e / d) <= 0  is  d * rest - e <= 0, for rest is an integer
                # rest + floor(e / d) <= 0  is  d * rest + e <= d - 1
                rest = _without_term(form, atom, coefficient)
                scaled = rest.times(int(divisor)).plus(linear_form(dividend, {}), coefficient)
                slack = int(divisor) - 1 if coefficient > 0 else 0
                return not_positive(scaled.plus(-slack))
            case _:
                continue
        rest = _without_term(form, atom, coefficient)
        return [
            simpler
            for operand in operands
            for simpler in not_positive(rest.plus(linear_form(operand, {}), coefficient))
        ]
    return [form]


def _without_term(form: LinearForm, atom: Expression, coefficient: int) -> LinearForm:
    return form.plus(LinearForm(((atom, 1),), 0), -coefficient)


def reduced(form: LinearForm) -> LinearForm:
    """Divide a form by the common divisor of its coefficients: it is at most 0 where it was."""
    divisor = gcd(*(coefficient for _, coefficient in form.terms))
    if divisor < 2:
        return form
    terms = tuple((atom, coefficient // divisor) for atom, coefficient in form.terms)
    return LinearForm(terms, -(-form.constant // divisor))
