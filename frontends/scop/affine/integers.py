"""Exact integer arithmetic with constant folding; division truncates as in C."""

from __future__ import annotations

from polysched.frontends.scop.affine.scope import Scope
from polysched.ir.expr.expressions import Constant, Expression, Operation
from polysched.ir.expr.functions import maximum, minimum, select
from polysched.ir.expr.operators import Operator


def plus(left: Expression, right: Expression) -> Expression:
    """Add two integers; two literals are folded."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(int(left.value) + int(right.value))
    return left + right


def with_offset(value: Expression, by: int) -> Expression:
    """Add an offset to a value; an offset of 0 is left out."""
    return plus(value, Constant(by)) if by else value


def minus(left: Expression, right: Expression) -> Expression:
    """Subtract two integers; two literals are folded."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(int(left.value) - int(right.value))
    return left - right


def product(left: Expression, right: Expression) -> Expression:
    """Multiply two integers; two literals are folded."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(int(left.value) * int(right.value))
    return left * right


def negated(value: Expression) -> Expression:
    """Negate an integer; a literal is folded."""
    return Constant(-int(value.value)) if isinstance(value, Constant) else -value


def floor(value: Expression, divisor: int) -> Expression:
    """Divide by a positive number, rounding down; a literal is folded."""
    if isinstance(value, Constant):
        return Constant(int(value.value) // divisor)
    return value // divisor


def quotient(scope: Scope, value: Expression, divisor: int) -> Expression:
    """Divide by a literal, rounding toward zero as C does."""
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
    """Remainder by a literal, with the sign of the dividend as in C."""
    divisor = abs(divisor)
    if isinstance(value, Constant):
        number = int(value.value)
        return Constant(abs(number) % divisor * (1 if number >= 0 else -1))
    if scope.proves(value >= 0):
        return value % divisor
    below = -((-value) % divisor)
    return below if scope.proves(value <= 0) else select(value >= 0, value % divisor, below)


def wrapped_once(scope: Scope, value: Expression, size: Expression) -> Expression | None:
    """Remainder by a size of a value that provably lies in its first periods; otherwise None.

    ``(i + 1) % n`` and ``(i - 1 + n) % n`` are subscripts of a periodic array.
    """
    if not scope.proves((value >= 0) & (size >= 1)):
        return None
    twice = size + size
    if scope.proves(value < twice):
        return select(value < size, value, value - size)
    if scope.proves(value < twice + size):
        return select(value < size, value, select(value < twice, value - size, value - twice))
    return None


def selected(holds: Expression, if_true: Expression, if_false: Expression) -> Expression:
    """Select between two integers; ``a < b ? a : b`` and its like become minimum or maximum."""
    if isinstance(holds, Constant):
        return if_true if holds.value else if_false
    assert isinstance(holds, Operation)
    if holds.operator in (Operator.LESS, Operator.LESS_EQUAL):
        if (if_true, if_false) == holds.operands:
            return minimum(if_true, if_false)
        if (if_false, if_true) == holds.operands:
            return maximum(if_true, if_false)
    return select(holds, if_true, if_false)
