"""Set the order policy of all reductions of a kernel, and see conditional extrema as reductions."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from types import MappingProxyType

from polysched.ir.core.kernel import Kernel, Order, Statement
from polysched.ir.declare.declarations import as_reduction
from polysched.ir.expr.expressions import Expression, Operation, operation
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import transform

_BY_COMPARISON = MappingProxyType(
    {
        Operator.NUMBER_MINIMUM: Operator.PSEUDO_MINIMUM,
        Operator.NUMBER_MAXIMUM: Operator.PSEUDO_MAXIMUM,
    }
)
_LESS = frozenset({Operator.LESS, Operator.LESS_EQUAL})


def with_order(kernel: Kernel, order: Order, kept: Container[str] = ()) -> Kernel:
    """Return the kernel with the order policy `order` on every reduction.

    Args:
        kept: names of the statements whose policy is left unchanged.
    """
    statements = {
        name: statement if name in kept else _with_order(statement, order)
        for name, statement in kernel.statements.items()
    }
    return replace(kernel, statements=MappingProxyType(statements))


def _with_order(statement: Statement, order: Order) -> Statement:
    if statement.reduction is None:
        return statement
    return replace(statement, reduction=replace(statement.reduction, order=order))


def with_free_extrema(kernel: Kernel) -> Kernel:
    """Return the kernel with extrema of floats as single comparisons, in reductions in any order.

    ``m = x > m ? x : m`` becomes the reduction ``m = pmax(m, x)``, and ``fmax(a, b)`` becomes
    ``pmax(a, b)``. The results differ where an operand is NaN, and in the sign of a zero, which
    ``-ffast-math`` permits. Frontends declare choices of integers as extrema themselves.
    """
    statements = {name: _with_extrema(each) for name, each in kernel.statements.items()}
    return replace(kernel, statements=MappingProxyType(statements))


def _with_extrema(statement: Statement) -> Statement:
    if statement.reduction is not None:
        return statement
    value = transform(statement.value, _number_extremum)
    chosen = _chosen_extremum(value)
    extremum = value if chosen is None else chosen
    extremum, reduction = as_reduction(statement.target, extremum, Order.ANY)
    if reduction is not None:
        return replace(statement, value=extremum, reduction=reduction)
    # A choice that is no reduction stays as written.
    return statement if value is statement.value else replace(statement, value=value)


def _number_extremum(value: Expression) -> Expression | None:
    if isinstance(value, Operation) and value.operator in _BY_COMPARISON:
        return operation(_BY_COMPARISON[value.operator], *value.operands)
    return None


def _chosen_extremum(value: Expression) -> Expression | None:
    """Return a choice between the two sides of its comparison as an extremum; None for others."""
    match value:
        case Operation(
            operator=Operator.SELECT,
            operands=(Operation(operator=symbol, operands=(left, right)), first, second),
            dtype=dtype,
        ) if dtype is not None and dtype.is_float and symbol in _LESS:
            if (first, second) == (left, right):
                return operation(Operator.PSEUDO_MINIMUM, second, first)
            if (first, second) == (right, left):
                return operation(Operator.PSEUDO_MAXIMUM, second, first)
    return None
