"""Conditions of literals alone, which choose a side when the function is read."""

from __future__ import annotations

from polysched.errors import KernelError
from polysched.frontends.python.values.value import Value
from polysched.ir.expr.dtypes import boolean, i64
from polysched.ir.expr.evaluate import evaluate
from polysched.ir.expr.expressions import Expression, Index, Load, Parameter
from polysched.ir.expr.traversal import walk


def decided(condition: Value) -> bool | None:
    """Whether a condition of literals alone holds; None for other conditions."""
    expression = condition.expression
    is_open = any(isinstance(node, Index | Parameter | Load) for node in walk(expression))
    if is_open or is_narrow(expression):
        return None
    try:
        return bool(evaluate(expression, {}))
    except KernelError:
        return None


def is_narrow(expression: Expression) -> bool:
    """Whether a part of an expression has a type other than i64 and bool."""
    dtypes = {node.dtype for node in walk(expression)}
    return not dtypes <= {None, boolean, i64}
