"""Shared subtrees: equal parts of an expression become one object (hash consing).

Costs count an object once, as LLVM's value numbering computes it once.
"""

from __future__ import annotations

from collections.abc import Hashable

from polysched.ir.expr.expressions import Cast, Constant, Expression, Load, Operation
from polysched.ir.expr.traversal import children, transform


def with_shared_parts(value: Expression) -> Expression:
    """Return an equal expression in which equal subtrees are the same object."""
    known: dict[Hashable, Expression] = {}

    def rule(node: Expression) -> Expression:
        return known.setdefault(_key(node), node)

    return transform(value, rule)


def _key(node: Expression) -> Hashable:
    """A key of a node whose operands are shared; 0.0 and -0.0 have different keys."""
    operands = tuple(map(id, children(node)))
    match node:
        case Constant(value=value, type=dtype):
            return type(value), repr(value), dtype
        case Operation(operator=operator, type=dtype):
            return operator, operands, dtype
        case Cast(type=dtype):
            return Cast, operands, dtype
        case Load(array=array) if type(node) is Load:
            return array, operands
        case Load():
            return id(node)
    return type(node), str(node)
