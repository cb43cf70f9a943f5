"""Walking over expression trees, and rewriting them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import replace

from polysched.ir.expressions import Cast, Expression, Load, Operation


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct operands of a node, subscripts included."""
    if isinstance(expression, Operation):
        return expression.operands
    if isinstance(expression, Load):
        return expression.subscripts
    return (expression.operand,) if isinstance(expression, Cast) else ()


def rebuild(expression: Expression, operands: tuple[Expression, ...]) -> Expression:
    """The same node over other operands (of the same types)."""
    match expression:
        case Load():
            # Not made anew: a frontend's load may be of a class of its own.
            return replace(expression, subscripts=operands)
        case Operation(operator=operator, type=dtype):
            return Operation(operator, operands, dtype)
        case Cast(type=dtype):
            return Cast(operands[0], dtype)
        case _:
            return expression


def transform(
    expression: Expression, rule: Callable[[Expression], Expression | None]
) -> Expression:
    """Rewrite bottom-up: ``rule`` returns a replacement for a node or None to keep it.

    What nothing is replaced in stays the same object.
    """
    operands = children(expression)
    if operands:
        made = tuple([transform(operand, rule) for operand in operands])
        if any(map(operator.is_not, made, operands)):
            expression = rebuild(expression, made)
    replacement = rule(expression)
    return expression if replacement is None else replacement


def walk(expression: Expression) -> Iterator[Expression]:
    """All nodes, an operand before the node that uses it, left to right."""
    # Backwards it is a node before its operands, which takes no recursion.
    found, open_nodes = [], [expression]
    while open_nodes:
        node = open_nodes.pop()
        found.append(node)
        open_nodes.extend(children(node))
    return reversed(found)


def depth(expression: Expression) -> int:
    """How many nodes stand inside each other, found without recursion."""
    deepest = 0
    level: tuple[Expression, ...] = (expression,)
    while level:
        deepest += 1
        unique = {id(child): child for node in level for child in children(node)}
        level = tuple(unique.values())
    return deepest


def node_count(expression: Expression) -> int:
    """How many nodes :func:`walk` gives, found without walking twice through what is shared."""
    counts: dict[int, int] = {}

    def count(node: Expression) -> int:
        if id(node) not in counts:
            counts[id(node)] = 1 + sum(map(count, children(node)))
        return counts[id(node)]

    return count(expression)


def loads(expression: Expression) -> tuple[Load, ...]:
    """The read accesses of an expression in evaluation order."""
    # As in `walk`, which would look at the leaves too; most expressions are one.
    found, open_nodes = [], [expression]
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, Operation):
            open_nodes.extend(node.operands)
        elif isinstance(node, Load):
            found.append(node)
            open_nodes.extend(node.subscripts)
        elif isinstance(node, Cast):
            open_nodes.append(node.operand)
    return tuple(reversed(found))
