"""The order policy of all reductions of a kernel at once."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from types import MappingProxyType

from polysched.ir.kernel import Kernel, Order, Statement


def with_order(kernel: Kernel, order: Order, kept: Container[str] = ()) -> Kernel:
    """The kernel with a policy for its reductions.

    Args:
        kernel: any.
        order: the policy.
        kept: statements that keep theirs.
    """
    statements = {
        name: one if name in kept else _with_order(one, order)
        for name, one in kernel.statements.items()
    }
    return replace(kernel, statements=MappingProxyType(statements))


def _with_order(statement: Statement, order: Order) -> Statement:
    if statement.reduction is None:
        return statement
    return replace(statement, reduction=replace(statement.reduction, order=order))
