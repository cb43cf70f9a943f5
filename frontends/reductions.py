"""Set the order policy of all reductions of a kernel, and see conditional extrema as reductions."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from types import MappingProxyType

from polysched.ir.core.kernel import Kernel, Order, Statement
from polysched.ir.declare.declarations import as_reduction
from polysched.ir.expr.expressions import Expression, Operation
from polysched.ir.expr.functions import maximum, minimum
from polysched.ir.expr.operators import Operator

_LESS = frozenset({Operator.LESS, Operator.LESS_EQUAL})


def with_order(kernel: Kernel, order: Order, kept: Container[str] = ()) -> Kernel:
    """Return the kernel with the order policy `order` on every reduction.

    Args:
        kernel: a kernel, with or without reductions.
        order: the order policy.
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
    """Return the kernel with ``m = x > m ? x : m`` of floats as ``m = max(m, x)`` in any order.

    The two differ where an operand is NaN, and in the sign of a zero: a comparison with NaN keeps
    ``m``, a maximum becomes NaN. So this is for callers that allow the like of ``-ffast-math``.
    Choices of integers are extrema already when a frontend declares them.
    """
    statements = {name: _with_extremum(each) for name, each in kernel.statements.items()}
    return replace(kernel, statements=MappingProxyType(statements))


def _with_extremum(statement: Statement) -> Statement:
    extremum = _extremum(statement.value) if statement.reduction is None else None
    if extremum is None:
        return statement
    value, reduction = as_reduction(statement.target, extremum, Order.ANY)
    if reduction is None:
        return statement
    return replace(statement, value=value, reduction=reduction)


def _extremum(value: Expression) -> Expression | None:
    """Return a choice between the two sides of its comparison as an extremum; None for others."""
    match value:
        case Operation(
            operator=Operator.SELECT,
            operands=(Operation(operator=symbol, operands=(left, right)), first, second),
            dtype=dtype,
        ) if dtype is not None and dtype.is_float and symbol in _LESS:
            if (first, second) == (left, right):
                return minimum(first, second)
            if (first, second) == (right, left):
                return maximum(first, second)
    return None
