"""Extents and context conditions as linear forms: solved for a parameter, written for people."""

from __future__ import annotations

from collections.abc import Iterator

from polysched.ir.expr.affine import weighted_sum
from polysched.ir.expr.expressions import Expression, Operation, Parameter
from polysched.ir.expr.linear import LinearForm
from polysched.ir.expr.operators import INFIX, Operator
from polysched.ir.expr.traversal import walk


def parameter_names(form: LinearForm) -> frozenset[str]:
    """The names of all parameters of a form, also of those inside terms."""
    return frozenset(name for term, _ in form.terms for name in _parameters(term))


def solve(form: LinearForm, value: int, unknown: str, rest: int) -> int | None:
    """The value of the parameter ``unknown`` for which ``form`` has ``value``.

    ``rest`` is the value of the form without the term of ``unknown``. None where no integer fits.
    """
    coefficient = dict(form.terms)[Parameter(unknown)]
    solution, remainder = divmod(value - rest, coefficient)
    return None if remainder else solution


def without(form: LinearForm, parameter: str) -> Expression:
    """The form as an expression, less the term that is ``parameter`` itself."""
    kept = [(c, term) for term, c in form.terms if term != Parameter(parameter)]
    return weighted_sum(kept, form.constant)


def comparison_text(form: LinearForm, *, equality: bool) -> str:
    """``form >= 0`` (or ``== 0``) as a person would write it: ``N >= 1``, ``N <= M + 4``."""
    left = [(c, term) for term, c in form.terms if c > 0]
    right = [(-c, term) for term, c in form.terms if c < 0]
    operator = "==" if equality else ">="
    if not left:
        left, right = right, left
        operator = "==" if equality else "<="
        left_constant, right_constant = 0, form.constant
    elif not right:
        left_constant, right_constant = 0, -form.constant
    else:
        left_constant, right_constant = max(form.constant, 0), max(-form.constant, 0)
    return (
        f"{display(weighted_sum(left, left_constant))} {operator} "
        f"{display(weighted_sum(right, right_constant))}"
    )


def display(expression: Expression) -> str:
    """The expression's text without the parentheses around the whole."""
    text = str(expression)
    parenthesised = isinstance(expression, Operation) and (
        expression.operator in INFIX or expression.operator is Operator.NEGATE
    )
    return text[1:-1] if parenthesised else text


def _parameters(expression: Expression) -> Iterator[str]:
    return (node.name for node in walk(expression) if isinstance(node, Parameter))
