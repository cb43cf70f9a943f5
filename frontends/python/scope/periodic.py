"""``i % n`` and ``i // n`` by a size, where the quotient is known: ``a[(i + 1) % n]``.

A remainder by a size is not affine. If the dividend provably lies between ``-n`` and ``2 * n``, it
is a selection between affine values. In subscripts, this is assumed of other dividends, and checked
at each call: ``a[(i + k) % n]``.
"""

from __future__ import annotations

from collections.abc import Mapping

from polysched.frontends.python.scope.array_values import Subscripts, always, tidy
from polysched.frontends.python.values.affinity import is_affine_number
from polysched.frontends.python.values.value import Value
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.expressions import Constant, Expression, Index, Operation, Parameter
from polysched.ir.expr.functions import select
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import transform


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


def assumed_remainders(
    build: KernelBuilder,
    subscripts: Subscripts,
    indices: Mapping[str, tuple[Expression, Expression]],
) -> Subscripts:
    """Subscripts with affine values in the place of remainders such as ``(i + k) % n``.

    Every call checks the assumption that the dividend lies between ``-n`` and ``2 * n``.

    Args:
        indices: the least and the greatest value of each index of the enclosing loops.
    """

    def replaced(node: Expression) -> Expression | None:
        if not isinstance(node, Operation) or node.operator is not Operator.MODULO:
            return None
        dividend, divisor = node.operands
        if not isinstance(divisor, Parameter):
            return None
        least, greatest = (_end(dividend, indices, is_last=end) for end in (False, True))
        if least is None or greatest is None:
            return None
        build.assume(least >= -divisor)
        build.assume(greatest < 2 * divisor)
        below, above = tidy(dividend + divisor), tidy(dividend - divisor)
        return select(dividend < 0, below, select(dividend >= divisor, above, dividend))

    return tuple(transform(subscript, replaced) for subscript in subscripts)


def _end(
    expression: Expression,
    indices: Mapping[str, tuple[Expression, Expression]],
    *,
    is_last: bool,
) -> Expression | None:
    """The least or greatest value over all indices, of sizes alone; None if it is not affine."""
    for _ in range(len(indices) + 1):
        form = linear_form(expression, {})
        if all(isinstance(atom, Parameter) for atom, _ in form.terms):
            return form.expression()
        expression = Constant(form.constant)
        for atom, coefficient in form.terms:
            part: Expression = atom
            if isinstance(atom, Index) and atom.name in indices:
                part = indices[atom.name][(coefficient > 0) == is_last]
            elif not isinstance(atom, Parameter):
                return None
            expression = expression + coefficient * part
    return None
