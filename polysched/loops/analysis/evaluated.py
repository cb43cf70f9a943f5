"""Conditions under which loops evaluate a value.

A rewrite that reads data before a loop must not read where the loop does not: an array may have no
elements if the loop has no iterations, and a C pointer to it may be null.
"""

from __future__ import annotations

from polysched.ir.expr.expressions import Constant, Expression
from polysched.ir.expr.literal_conditions import TRUE
from polysched.ir.expr.traversal import substituted, walk
from polysched.loops.ir.nodes import Assign, For, If, LoopNode, children, controls


def evaluation_condition(node: LoopNode, value: Expression) -> Expression | None:
    """Return a condition, known before a node, under which the node evaluates a value.

    Returns:
        A sufficient condition: loops are taken to evaluate the value in their first iteration. None
        if there is no such condition.
    """
    evaluated = (
        [node.value, *node.target.subscripts] if isinstance(node, Assign) else controls(node)
    )
    if any(part == value for whole in evaluated for part in walk(whole)):
        return TRUE
    match node:
        case Assign():
            return None
        case For(variable=variable, lower=lower, upper=upper, body=body):
            inner = evaluation_condition(body, value)
            if inner is None:
                return None
            return _both(_is_less(lower, upper), substituted(inner, {variable: lower}))
        case If(condition=condition, then=then):
            inner = evaluation_condition(then, value)
            return None if inner is None else _both(condition, inner)
    found = [evaluation_condition(child, value) for child in children(node)]
    return (
        TRUE
        if TRUE in found
        else next((condition for condition in found if condition is not None), None)
    )


def _both(first: Expression, second: Expression) -> Expression:
    if second == TRUE:
        return first
    return second if first == TRUE else first & second


def _is_less(lower: Expression, upper: Expression) -> Expression:
    if isinstance(lower, Constant) and isinstance(upper, Constant) and lower.value < upper.value:
        return TRUE
    return lower < upper
