"""The order policy of all reductions of a kernel at once."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from types import MappingProxyType

from polysched.ir.kernel import Kernel, Order, Statement


def reassociated(kernel: Kernel, kept: Container[str] = ()) -> Kernel:
    """The kernel, its reductions free to combine in any order.

    Args:
        kernel: any.
        kept: statements that keep their policy.
    """
    statements = {
        name: one if name in kept else _free(one) for name, one in kernel.statements.items()
    }
    return replace(kernel, statements=MappingProxyType(statements))


def _free(statement: Statement) -> Statement:
    if statement.reduction is None:
        return statement
    return replace(statement, reduction=replace(statement.reduction, order=Order.ANY))
