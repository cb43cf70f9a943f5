"""Linear forms of extents and conditions: solve for a parameter, format for messages."""

from __future__ import annotations

from polysched.ir.expr.affine import weighted_sum
from polysched.ir.expr.expressions import Expression, Operation, Parameter
from polysched.ir.expr.linear_form import LinearForm
from polysched.ir.expr.operators import INFIX, Operator
from polysched.ir.expr.traversal import walk


def parameter_names(form: LinearForm) -> frozenset[str]:
    """The names of all parameters of a form, including parameters inside its terms."""
    return frozenset(
        node.name for term, _ in form.terms for node in walk(term) if isinstance(node, Parameter)
    )


def solve(form: LinearForm, value: int, unknown: str, rest: int) -> int | None:
    """Solve ``form == value`` for the parameter ``unknown``; None if no integer solves it.

    ``rest`` is the value of the form without the term of ``unknown``.
    """
    coefficient = dict(form.terms)[Parameter(unknown)]
    solution, remainder = divmod(value - rest, coefficient)
    return None if remainder else solution


def without(form: LinearForm, parameter: str) -> Expression:
    """The form as an expression, without the term ``parameter``."""
    kept = [(c, term) for term, c in form.terms if term != Parameter(parameter)]
    return weighted_sum(kept, form.constant)


def comparison_text(form: LinearForm, *, equality: bool) -> str:
    """Format ``form >= 0`` (or ``== 0``) with positive terms: ``N >= 1``, ``N <= M + 4``."""
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
    """The expression's text without enclosing parentheses."""
    text = str(expression)
    parenthesised = isinstance(expression, Operation) and (
        expression.operator in INFIX or expression.operator is Operator.NEGATE
    )
    return text[1:-1] if parenthesised else text
