"""Traversal and rewriting of expression trees."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from polysched.ir.expr.expressions import (
    Cast,
    Constant,
    Expression,
    Index,
    Load,
    Operation,
    Parameter,
)

_LEAVES = (Index, Constant, Parameter)
_CACHED_LOADS = "loads"
"""Key in an operation's ``__dict__`` that caches its loads: each pass asks again for them."""


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct operands of a node, including the subscripts of a load."""
    if isinstance(expression, Operation):
        return expression.operands
    if isinstance(expression, Load):
        return expression.subscripts
    return (expression.operand,) if isinstance(expression, Cast) else ()


def rebuild(expression: Expression, operands: tuple[Expression, ...]) -> Expression:
    """Replace the operands of a node by operands of the same types.

    Returns the same object, with its cached hash and form, if no operand changes.
    """
    if not any(map(operator.is_not, operands, children(expression))):
        return expression
    match expression:
        case Load():
            # `replace` keeps the class: a frontend may subclass Load.
            return replace(expression, subscripts=operands)
        case Operation(operator=symbol, type=dtype):
            return Operation(symbol, operands, dtype)
        case Cast(type=dtype):
            return Cast(operands[0], dtype)
        case _:
            return expression


def transform(
    expression: Expression, rule: Callable[[Expression], Expression | None]
) -> Expression:
    """Rewrite an expression bottom-up; an unchanged subtree stays the same object.

    Args:
        rule: returns the replacement of a node, or None to keep the node.
    """
    operands = children(expression)
    if operands:
        expression = rebuild(expression, tuple([transform(operand, rule) for operand in operands]))
    replacement = rule(expression)
    return expression if replacement is None else replacement


def substituted(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """Replace the indices with some names by expressions."""
    return transform(
        expression, lambda node: values.get(node.name) if isinstance(node, Index) else None
    )


def index_names(*expressions: Expression) -> list[str]:
    """The names of the indices in some expressions, in the order of :func:`walk`."""
    return [node.name for part in expressions for node in walk(part) if isinstance(node, Index)]


def walk(expression: Expression) -> Iterator[Expression]:
    """Iterate over all nodes in postorder, left to right."""
    # The reverse is a right-to-left preorder, which needs no recursion.
    visited, open_nodes = [], [expression]
    while open_nodes:
        node = open_nodes.pop()
        visited.append(node)
        open_nodes.extend(children(node))
    return reversed(visited)


def depth(expression: Expression) -> int:
    """The nesting depth in nodes, computed without recursion."""
    deepest = 0
    level: tuple[Expression, ...] = (expression,)
    while level:
        deepest += 1
        unique = {id(child): child for node in level for child in children(node)}
        level = tuple(unique.values())
    return deepest


def node_count(expression: Expression) -> int:
    """The number of nodes of :func:`walk`; each shared subtree is traversed only once."""
    counts: dict[int, int] = {}

    def count(node: Expression) -> int:
        if id(node) not in counts:
            counts[id(node)] = 1 + sum(map(count, children(node)))
        return counts[id(node)]

    return count(expression)


def loads(expression: Expression) -> tuple[Load, ...]:
    """The read accesses of an expression in evaluation order; those of operations are cached."""
    if isinstance(expression, _LEAVES):
        return ()
    known: tuple[Load, ...] | None = vars(expression).get(_CACHED_LOADS)
    if known is None:
        known = _loads(expression)
        if isinstance(expression, Operation):  # a load that holds itself would be a cycle
            vars(expression)[_CACHED_LOADS] = known
    return known


def _loads(expression: Expression) -> tuple[Load, ...]:
    # Like `walk`, but skips leaves for speed: most nodes are leaves.
    reads, open_nodes = [], [expression]
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, _LEAVES):
            continue
        if isinstance(node, Operation):
            open_nodes.extend(node.operands)
        elif isinstance(node, Load):
            reads.append(node)
            open_nodes.extend(node.subscripts)
        elif isinstance(node, Cast):
            open_nodes.append(node.operand)
    return tuple(reversed(reads))
