"""Set the order policy of all reductions of a kernel."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from types import MappingProxyType

from polysched.ir.core.kernel import Kernel, Order, Statement


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
