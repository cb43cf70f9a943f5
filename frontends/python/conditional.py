"""Statements whose conditions decide which elements are read, one statement for each case.

::

    b[i] = a[i + 1] if i < n - 1 else 0.0      if i < n - 1:
                                          ->       b[i] = a[i + 1]
                                               else:
                                                   b[i] = 0.0

A selection would compute both sides, so ``a[n]`` would be read.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from copy import copy
from typing import TypeVar

MOST_CASES = 16
"""Most statements that a statement becomes."""

NodeT = TypeVar("NodeT", bound=ast.AST)
IsAffine = Callable[[ast.expr], bool]


def split(node: ast.stmt, is_affine: IsAffine, cases: int = 1) -> ast.stmt:
    """An assignment or a branch as branches over its affine conditions that guard reads.

    Args:
        node: the statement.
        is_affine: whether an expression is an affine condition at this place.
        cases: how many statements the one of the user has become so far.
    """
    if cases >= MOST_CASES:
        return node
    if isinstance(node, ast.If):
        return _split_test(node, is_affine)
    found = _guard(node, is_affine)
    if found is None:
        return node
    part, test, sides = found
    if_true, if_false = (
        [split(_replaced(node, part, side), is_affine, 2 * cases)] for side in sides
    )
    return ast.copy_location(ast.If(test, if_true, if_false), node)


def _guard(
    node: ast.AST, is_affine: IsAffine
) -> tuple[ast.expr, ast.expr, tuple[ast.expr, ast.expr]] | None:
    """The first conditional part of a value: the part, its condition, its value in both cases."""
    match node:
        case ast.IfExp(test=test, body=body, orelse=orelse):
            if any(map(_reads_elements, (body, orelse))) and is_affine(test):
                return node, test, (body, orelse)
        case ast.BoolOp(op=op, values=[test, *rest]):
            if any(map(_reads_elements, rest)) and is_affine(test):
                others = _joined(node, rest)
                known = ast.copy_location(ast.Constant(isinstance(op, ast.Or)), test)
                return node, test, (known, others) if isinstance(op, ast.Or) else (others, known)
    for child in ast.iter_child_nodes(node):
        found = _guard(child, is_affine)
        if found is not None:
            return found
    return None


def _split_test(node: ast.If, is_affine: IsAffine) -> ast.If:
    """``if c and d:`` as ``if c:`` around ``if d:``, likewise with ``or``."""
    match node.test:
        case ast.BoolOp(op=op, values=[test, *rest]) if any(map(_reads_elements, rest)):
            twice = node.body if isinstance(op, ast.Or) else node.orelse
            if any(isinstance(one, ast.With) for part in twice for one in ast.walk(part)):
                return node  # which names a statement, and a name stands for one
            if not is_affine(test):
                return node
            inner = [
                ast.copy_location(ast.If(_joined(node.test, rest), node.body, node.orelse), node)
            ]
            sides = (node.body, inner) if isinstance(op, ast.Or) else (inner, node.orelse)
            return ast.copy_location(ast.If(test, *sides), node)
    return node


def _joined(node: ast.BoolOp, values: list[ast.expr]) -> ast.expr:
    if len(values) == 1:
        return values[0]
    return ast.copy_location(ast.BoolOp(node.op, values), values[0])


def _reads_elements(node: ast.expr) -> bool:
    """Whether an expression reads an element; ``a.shape[0]`` is none."""
    return any(
        isinstance(one, ast.Subscript) and not isinstance(one.value, ast.Attribute)
        for one in ast.walk(node)
    )


def _replaced(node: NodeT, part: ast.AST, by: ast.AST) -> NodeT:
    """A copy of a tree with another node at the place of ``part``."""
    result = copy(node)
    for name, value in ast.iter_fields(node):
        if value is part:
            setattr(result, name, by)
        elif isinstance(value, ast.AST):
            setattr(result, name, _replaced(value, part, by))
        elif isinstance(value, list):
            parts = [
                by if one is part else _replaced(one, part, by) if isinstance(one, ast.AST) else one
                for one in value
            ]
            setattr(result, name, parts)
    return result
