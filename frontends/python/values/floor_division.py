"""``//`` and ``%`` of floating-point numbers, as CPython and numpy define them."""

from __future__ import annotations

from polysched.ir.expr.expressions import Constant, Expression, operation
from polysched.ir.expr.functions import equal, not_equal, select
from polysched.ir.expr.operators import Operator


def floor_quotient(left: Expression, right: Expression) -> Expression:
    """``left // right`` in one floating-point type; division by zero gives ``left / right``."""
    dtype = left.dtype
    zero, half, one = (Constant(number, dtype) for number in (0.0, 0.5, 1.0))
    remainder = operation(Operator.FLOAT_REMAINDER, left, right)
    quotient = (left - remainder) / right
    is_off = not_equal(remainder, 0) & differ(remainder < zero, right < zero)
    quotient = select(is_off, quotient - one, quotient)
    floor = operation(Operator.FLOOR, quotient)
    nearest = select(half < quotient - floor, floor + one, floor)
    # If the quotient is 0, left / right lies between -1 and 1 and gives the sign of the zero.
    nearest = select(equal(quotient, 0), (left / right) * zero, nearest)
    return select(equal(right, 0), left / right, nearest)


def floor_remainder(left: Expression, right: Expression) -> Expression:
    """``left % right`` in one floating-point type; the result has the sign of ``right``."""
    dtype = left.dtype
    zero = Constant(0.0, dtype)
    remainder = operation(Operator.FLOAT_REMAINDER, left, right)
    is_off = differ(remainder < zero, right < zero)
    signed_zero = select(right < zero, Constant(-0.0, dtype), zero)
    nonzero = select(is_off, remainder + right, remainder)
    return select(equal(remainder, 0), select(equal(right, 0), remainder, signed_zero), nonzero)


def differ(left: Expression, right: Expression) -> Expression:
    """Whether two conditions differ."""
    return (left & ~right) | (~left & right)
