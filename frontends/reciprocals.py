"""Divisions by a value that an inner loop does not change, as products with its reciprocal."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from polysched.ir.core.kernel import Kernel, Statement
from polysched.ir.expr.expressions import Constant, Expression, Index, Operation, operation
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import transform, walk


def with_reciprocals(kernel: Kernel) -> Kernel:
    """Return the kernel with ``x / d`` as ``x * (1 / d)`` where ``d`` is the same along a row.

    A row is the innermost loop of the statement as declared. The code computes the reciprocal once
    for each row. The product is rounded twice, so this is for callers that allow the like of
    ``-freciprocal-math``. Divisions by literals stay: most are written as a product already.
    """
    statements = {name: _with_reciprocals(one) for name, one in kernel.statements.items()}
    return replace(kernel, statements=MappingProxyType(statements))


def _with_reciprocals(statement: Statement) -> Statement:
    if not statement.indices:
        return statement
    inner = statement.indices[-1]

    def rule(node: Expression) -> Expression | None:
        if not isinstance(node, Operation) or node.operator is not Operator.DIVIDE:
            return None
        dividend, divisor = node.operands
        if isinstance(divisor, Constant) or _uses(divisor, inner) or not _uses(dividend, inner):
            return None
        return operation(Operator.MULTIPLY, dividend, operation(Operator.DIVIDE, 1.0, divisor))

    return replace(statement, value=transform(statement.value, rule))


def _uses(expression: Expression, index: str) -> bool:
    return any(isinstance(node, Index) and node.name == index for node in walk(expression))
