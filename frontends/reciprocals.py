"""Divisions by a value that an inner loop does not change, as products with its reciprocal.

::

    for i: r = norm(i)                     for i: r = norm(i)
           for j: y[i, j] = x[i, j] / r  ->       for j: y[i, j] = x[i, j] * (1 / r)
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import MappingProxyType

from polysched.ir.core.kernel import Kernel, Statement
from polysched.ir.core.tree import path
from polysched.ir.expr.expressions import Expression, Index, Load, Operation, operation
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import transform, walk


def with_reciprocals(kernel: Kernel) -> Kernel:
    """Return the kernel with ``x / d`` as ``x * (1 / d)`` where ``d`` is the same along a row.

    A row is the innermost loop of the statement as declared. The code computes the reciprocal once
    for each row. The product is rounded twice, so this is for callers that allow the like of
    ``-freciprocal-math``.
    """
    statements = {name: _with_reciprocals(kernel, each) for name, each in kernel.statements.items()}
    return replace(kernel, statements=MappingProxyType(statements))


def _with_reciprocals(kernel: Kernel, statement: Statement) -> Statement:
    around = path(kernel.body, statement.name)
    if not around or not statement.indices:
        return statement
    written = frozenset(kernel.statements[name].target.array for name in around[-1].statements)
    rule = partial(_product, last=statement.indices[-1], written=written)
    value = transform(statement.value, rule)
    return statement if value is statement.value else replace(statement, value=value)


def _product(value: Expression, last: str, written: frozenset[str]) -> Expression | None:
    match value:
        case Operation(operator=Operator.DIVIDE, operands=(dividend, divisor), dtype=dtype) if (
            dtype is not None and dtype.is_float
        ):
            kept, varies = _is_kept(divisor, last, written), not _is_kept(dividend, last, written)
            if kept and varies:
                reciprocal = operation(Operator.DIVIDE, 1.0, divisor)
                return operation(Operator.MULTIPLY, dividend, reciprocal)
    return None


def _is_kept(value: Expression, last: str, written: frozenset[str]) -> bool:
    """Whether a value is the same in all iterations of the innermost loop."""
    return not any(
        (isinstance(node, Index) and node.name == last)
        or (isinstance(node, Load) and node.array in written)
        for node in walk(value)
    )
