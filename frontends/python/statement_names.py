"""Names of Python's statements in messages."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import MappingProxyType

_NAMES: Mapping[type[ast.stmt], str] = MappingProxyType(
    {
        ast.Assign: "an assignment to several targets",
        ast.ClassDef: "a class",
        ast.Delete: "'del'",
        ast.Expr: "an expression whose value is not used",
        ast.FunctionDef: "a function",
    }
)
"""Names of statements without a keyword."""


def statement_name(node: ast.stmt) -> str:
    """The name of a statement in messages: its keyword, if it has one."""
    return _NAMES.get(type(node), f"'{type(node).__name__.lower()}'")
