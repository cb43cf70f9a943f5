"""``i % n`` and ``i // n`` by a size, where the quotient is known: ``a[(i + 1) % n]``.

A remainder by a size is not affine. If the dividend provably lies between ``-n`` and ``2 * n``, it
is a selection between affine values.
"""

from __future__ import annotations

from polysched.frontends.python.affinity import is_affine_number
from polysched.frontends.python.array_values import always, tidy
from polysched.frontends.python.values import Value
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.expressions import Constant, Expression
from polysched.ir.expr.functions import select
from polysched.ir.expr.operators import Operator


def affine_quotient(
    build: KernelBuilder, operator: Operator, left: Value, right: Value
) -> Value | None:
    """``left % right`` or ``left // right`` as an affine value; None if it is not known to be."""
    if operator not in (Operator.MODULO, Operator.FLOOR_DIVIDE) or right.literal is not None:
        return None
    if not (is_affine_number(left) and is_affine_number(right)):
        return None
    dividend, divisor = left.expression, right.expression
    is_remainder = operator is Operator.MODULO

    def result(quotient: int) -> Expression:
        if not is_remainder:
            return Constant(quotient)
        return tidy(dividend - quotient * divisor)

    is_low, is_high = dividend < 0, dividend >= divisor
    if always(build, (dividend >= 0) & (dividend < divisor)):
        return Value(result(0), is_weak=True)
    if always(build, (dividend >= 0) & (dividend < 2 * divisor)):
        return Value(select(is_high, result(1), result(0)), is_weak=True)
    if always(build, (dividend >= -divisor) & (dividend < divisor)):
        return Value(select(is_low, result(-1), result(0)), is_weak=True)
    if always(build, (dividend >= -divisor) & (dividend < 2 * divisor)):
        chosen = select(is_low, result(-1), select(is_high, result(1), result(0)))
        return Value(chosen, is_weak=True)
    return None
