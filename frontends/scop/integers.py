"""Arithmetic on exact integers: literals are computed, division truncates as in C."""

from __future__ import annotations

from polysched.frontends.scop.scope import Scope
from polysched.ir.expressions import Constant, Expression, Operation
from polysched.ir.functions import maximum, minimum, select
from polysched.ir.operators import Operator


def plus(left: Expression, right: Expression) -> Expression:
    """A sum, computed if both are literals."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(int(left.value) + int(right.value))
    return left + right


def moved(value: Expression, by: int) -> Expression:
    """A sum with a literal, which is left out where it is 0."""
    return plus(value, Constant(by)) if by else value


def minus(left: Expression, right: Expression) -> Expression:
    """A difference, computed if both are literals."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(int(left.value) - int(right.value))
    return left - right


def product(left: Expression, right: Expression) -> Expression:
    """A product, computed if both are literals."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(int(left.value) * int(right.value))
    return left * right


def negated(value: Expression) -> Expression:
    """The negated value, computed of a literal."""
    return Constant(-int(value.value)) if isinstance(value, Constant) else -value


def floor(value: Expression, divisor: int) -> Expression:
    """The quotient by a positive number rounded down, computed of a literal."""
    if isinstance(value, Constant):
        return Constant(int(value.value) // divisor)
    return value // divisor


def quotient(scope: Scope, value: Expression, divisor: int) -> Expression:
    """The quotient by a literal as C has it, rounded toward zero."""
    if divisor < 0:
        return negated(quotient(scope, value, -divisor))
    if divisor == 1:
        return value
    if isinstance(value, Constant):
        number = int(value.value)
        return Constant(abs(number) // divisor * (1 if number >= 0 else -1))
    if scope.proves(value >= 0):
        return value // divisor
    below = negated(floor(negated(value), divisor))
    if scope.proves(value <= 0):
        return below
    return select(value >= 0, value // divisor, below)


def remainder(scope: Scope, value: Expression, divisor: int) -> Expression:
    """The remainder by a literal as C has it, with the sign of the dividend."""
    divisor = abs(divisor)
    if isinstance(value, Constant):
        number = int(value.value)
        return Constant(abs(number) % divisor * (1 if number >= 0 else -1))
    if scope.proves(value >= 0):
        return value % divisor
    below = -((-value) % divisor)
    return below if scope.proves(value <= 0) else select(value >= 0, value % divisor, below)


def chosen(holds: Expression, if_true: Expression, if_false: Expression) -> Expression:
    """A selection of integers; one that is a minimum or a maximum is said to be one."""
    if isinstance(holds, Constant):
        return if_true if holds.value else if_false
    assert isinstance(holds, Operation)
    if holds.operator in (Operator.LESS, Operator.LESS_EQUAL):
        if (if_true, if_false) == holds.operands:
            return minimum(if_true, if_false)
        if (if_false, if_true) == holds.operands:
            return maximum(if_true, if_false)
    return select(holds, if_true, if_false)
