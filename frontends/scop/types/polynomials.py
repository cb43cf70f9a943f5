"""Polynomials with integer coefficients over indices, sizes and other affine atoms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

from polysched.ir.expr.expressions import Constant, Expression, Operation
from polysched.ir.expr.operators import Operator

Monomial: TypeAlias = tuple[Expression, ...]
Polynomial: TypeAlias = Mapping[Monomial, int]
"""Integer coefficients by monomial. A monomial is a product of indices, sizes and other affine
atoms, sorted by their text; the empty product is the constant term.
"""


def polynomial_of(expression: Expression) -> Polynomial:
    """Expand an integer expression to a polynomial; any part but a sum or product is an atom."""
    match expression:
        case Constant(value=value):
            return {(): int(value)} if value else {}
        case Operation(operator=Operator.ADD, operands=(left, right)):
            return plus(polynomial_of(left), polynomial_of(right), 1)
        case Operation(operator=Operator.SUBTRACT, operands=(left, right)):
            return plus(polynomial_of(left), polynomial_of(right), -1)
        case Operation(operator=Operator.MULTIPLY, operands=(left, right)):
            return times(polynomial_of(left), polynomial_of(right))
        case Operation(operator=Operator.NEGATE, operands=(operand,)):
            return times(polynomial_of(operand), {(): -1})
    return {(expression,): 1}


def plus(left: Polynomial, right: Polynomial, sign: int) -> Polynomial:
    """Add a polynomial, or subtract it if the sign is -1."""
    total = dict(left)
    for monomial, coefficient in right.items():
        total[monomial] = total.get(monomial, 0) + sign * coefficient
    return {monomial: coefficient for monomial, coefficient in total.items() if coefficient}


def times(left: Polynomial, right: Polynomial) -> Polynomial:
    """Multiply two polynomials."""
    total: Polynomial = {}
    for term, factor in left.items():
        product = {
            tuple(sorted((*term, *other), key=str)): factor * c for other, c in right.items()
        }
        total = plus(total, product, 1)
    return total


def divided(
    polynomial: Polynomial, monomial: Monomial, factor: int
) -> tuple[Polynomial, Polynomial]:
    """Divide a polynomial by ``factor * monomial``: the quotient and the remaining terms."""
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for term, coefficient in polynomial.items():
        missing = Counter(monomial) - Counter(term)
        if missing:
            rest[term] = coefficient
            continue
        quotient = abs(coefficient) // factor * (1 if coefficient > 0 else -1)
        left_over = coefficient - quotient * factor
        if quotient:
            reduced = tuple(sorted((Counter(term) - Counter(monomial)).elements(), key=str))
            whole[reduced] = quotient
        if left_over:
            rest[term] = left_over
    return whole, rest
