"""Integer expressions as sums of multiples of terms: what extents and context conditions are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polysched.ir.affine import weighted_sum
from polysched.ir.expressions import (
    INFIX,
    Constant,
    Expression,
    Operation,
    Operator,
    Parameter,
)
from polysched.ir.traversal import walk


@dataclass(frozen=True)
class LinearForm:
    """``constant + sum of coefficient * term``; a term is a parameter or something not linear.

    No coefficient is 0.
    """

    terms: Mapping[Expression, int]
    constant: int

    def __add__(self, other: LinearForm) -> LinearForm:
        terms = (*self.terms, *other.terms)
        sums = {term: self.terms.get(term, 0) + other.terms.get(term, 0) for term in terms}
        return LinearForm({t: c for t, c in sums.items() if c}, self.constant + other.constant)

    def scaled(self, factor: int) -> LinearForm:
        """This form times a number."""
        terms = {term: c * factor for term, c in self.terms.items() if factor}
        return LinearForm(terms, self.constant * factor)

    def parameters(self) -> frozenset[str]:
        """The names of all parameters, also of those inside terms."""
        return frozenset(name for term in self.terms for name in _parameters(term))


def linear_form(expression: Expression) -> LinearForm:
    """Any integer expression in this form; what is not a sum or a literal multiple is one term."""
    match expression:
        case Constant(value=int(value)):
            return LinearForm({}, value)
        case Operation(operator=Operator.ADD, operands=(left, right)):
            return linear_form(left) + linear_form(right)
        case Operation(operator=Operator.SUBTRACT, operands=(left, right)):
            return linear_form(left) + linear_form(right).scaled(-1)
        case Operation(operator=Operator.NEGATE, operands=(only,)):
            return linear_form(only).scaled(-1)
        case Operation(operator=Operator.MULTIPLY, operands=(left, right)):
            a, b = linear_form(left), linear_form(right)
            if not a.terms:
                return b.scaled(a.constant)
            if not b.terms:
                return a.scaled(b.constant)
    return LinearForm({expression: 1}, 0)


def solve(form: LinearForm, value: int, unknown: str, rest: int) -> int | None:
    """The value of the parameter ``unknown`` for which ``form`` has ``value``.

    ``rest`` is the value of the form without the term of ``unknown``. None where no integer fits.
    """
    coefficient = form.terms[Parameter(unknown)]
    solution, remainder = divmod(value - rest, coefficient)
    return None if remainder else solution


def without(form: LinearForm, parameter: str) -> Expression:
    """The form as an expression, less the term that is ``parameter`` itself."""
    kept = [(c, term) for term, c in form.terms.items() if term != Parameter(parameter)]
    return weighted_sum(kept, form.constant)


def comparison_text(form: LinearForm, *, equality: bool) -> str:
    """``form >= 0`` (or ``== 0``) as a person would write it: ``N >= 1``, ``N <= M + 4``."""
    left = [(c, term) for term, c in form.terms.items() if c > 0]
    right = [(-c, term) for term, c in form.terms.items() if c < 0]
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
