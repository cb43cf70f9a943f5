"""Syntax trees with other fields: the given nodes stay as they are."""

from __future__ import annotations

import ast
from copy import copy
from typing import TypeVar

NodeT = TypeVar("NodeT", bound=ast.AST)


def with_fields(node: NodeT, **changed: object) -> NodeT:
    """Return a copy of a node with other fields; the same node if no field changes."""
    if all(getattr(node, name) is value for name, value in changed.items()):
        return node
    result = copy(node)
    for name, value in changed.items():
        setattr(result, name, value)
    return result
