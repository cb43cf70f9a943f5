"""Rewrite conditional expressions that guard array reads into branches.

::

    b[i] = a[i + 1] if i < n - 1 else 0.0      if i < n - 1:
                                          ->       b[i] = a[i + 1]
                                               else:
                                                   b[i] = 0.0

A select would evaluate both sides, so it would read ``a[n]``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from copy import copy
from typing import TypeVar

MOST_CASES = 16
"""Limit on the statements that one statement of the user is split into."""

_OF_ONE_OR_MORE = frozenset({"amax", "amin", "argmax", "argmin", "max", "min"})
"""Functions and methods of arrays that need an element."""

NodeT = TypeVar("NodeT", bound=ast.AST)
IsAffine = Callable[[ast.expr], bool]


def split(node: ast.stmt, is_affine: IsAffine, cases: int = 1) -> ast.stmt:
    """Split a statement into branches over the affine conditions that guard its reads.

    Args:
        node: an assignment or a branch.
        is_affine: tells whether an expression is an affine condition here.
        cases: number of statements that the user's statement has been split into so far.
    """
    if cases >= MOST_CASES:
        return node
    if isinstance(node, ast.If):
        return _split_test(node, is_affine)
    guard = _guard(node, is_affine)
    if guard is None:
        return node
    part, test, sides = guard
    if_true, if_false = (
        [split(_replaced(node, part, side), is_affine, 2 * cases)] for side in sides
    )
    return ast.copy_location(ast.If(test, if_true, if_false), node)


def _guard(
    node: ast.AST, is_affine: IsAffine, *, is_test: bool = False
) -> tuple[ast.expr, ast.expr, tuple[ast.expr, ast.expr]] | None:
    """Find the first guarding subexpression: it, its condition, its value if true and if false.

    Args:
        is_test: whether only the truth of the node counts.
    """
    match node:
        case ast.IfExp(test=test, body=body, orelse=orelse):
            if any(map(_reads_elements, (body, orelse))) and is_affine(test):
                return node, test, (body, orelse)
        case ast.BoolOp(op=op, values=[test, *rest]):
            if any(map(_reads_elements, rest)) and is_affine(test):
                others = _joined(node, rest)
                known = test  # of a number, its value, as in Python
                if is_test or isinstance(test, ast.Compare):
                    known = ast.copy_location(ast.Constant(isinstance(op, ast.Or)), test)
                return node, test, (known, others) if isinstance(op, ast.Or) else (others, known)
    for child in ast.iter_child_nodes(node):
        is_tested = child is getattr(node, "test", None) or (
            isinstance(node, ast.BoolOp) and is_test
        )
        guard = _guard(child, is_affine, is_test=is_tested)
        if guard is not None:
            return guard
    return None


def _split_test(node: ast.If, is_affine: IsAffine) -> ast.If:
    """Rewrite ``if c and d:`` into ``if c:`` around ``if d:``; likewise ``or``."""
    match node.test:
        case ast.BoolOp(op=op, values=[test, *rest]) if any(map(_reads_elements, rest)):
            duplicated = node.body if isinstance(op, ast.Or) else node.orelse
            if any(isinstance(child, ast.With) for part in duplicated for child in ast.walk(part)):
                return node  # `with` names a statement, and two statements cannot share a name
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
    """Whether an expression reads an array element; ``a.shape[0]`` does not, ``a.max()`` does."""
    return any(
        (isinstance(child, ast.Subscript) and not isinstance(child.value, ast.Attribute))
        or (isinstance(child, ast.Attribute) and child.attr in _OF_ONE_OR_MORE)
        for child in ast.walk(node)
    )


def _replaced(node: NodeT, part: ast.AST, by: ast.AST) -> NodeT:
    """Copy a syntax tree with the node ``part`` replaced by ``by``."""
    result = copy(node)
    for name, value in ast.iter_fields(node):
        if value is part:
            setattr(result, name, by)
        elif isinstance(value, ast.AST):
            setattr(result, name, _replaced(value, part, by))
        elif isinstance(value, list):
            parts = [
                by
                if item is part
                else _replaced(item, part, by)
                if isinstance(item, ast.AST)
                else item
                for item in value
            ]
            setattr(result, name, parts)
    return result
