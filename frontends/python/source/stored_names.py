"""Names that statements assign to."""

from __future__ import annotations

import ast
from collections.abc import Iterable


def assigned(body: Iterable[ast.stmt]) -> frozenset[str]:
    """The names that statements assign to: variables, and arrays with assigned elements."""
    names: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                base: ast.expr = node
                while isinstance(base, ast.Subscript):
                    base = base.value
                if isinstance(base, ast.Name):
                    names.add(base.id)
    return frozenset(names)


def assignments_of(body: Iterable[ast.stmt], name: str) -> int:
    """The number of places where statements assign to a variable."""
    return sum(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for statement in body
        for node in ast.walk(statement)
    )


def rebound(body: Iterable[ast.stmt]) -> frozenset[str]:
    """The names that statements bind anew; ``x += 1`` changes an array in place."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    in_place = [node.target for node in nodes if isinstance(node, ast.AugAssign)]
    return frozenset(
        node.id
        for node in nodes
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and not any(node is target for target in in_place)
    )


def literals_assigned(body: Iterable[ast.stmt]) -> list[tuple[str, float]]:
    """The assignments of literals to names: pairs of name and number."""
    assignments: list[tuple[str, float]] = []
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                try:
                    value = ast.literal_eval(node.value)
                except (ValueError, TypeError, RecursionError):
                    continue
                if isinstance(value, bool | int | float):
                    assignments.append((node.targets[0].id, value))
    return assignments


def always_assigns(body: Iterable[ast.stmt], name: str) -> bool:
    """Whether statements assign to a variable on every path."""
    for node in body:
        match node:
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
                if name in assigned([node]):
                    return True
            case ast.With(body=inner):
                if always_assigns(inner, name):
                    return True
            case ast.If(body=inner, orelse=other):
                if always_assigns(inner, name) and always_assigns(other, name):
                    return True
    return False
