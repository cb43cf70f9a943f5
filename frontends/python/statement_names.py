"""The names that messages give statements of Python."""

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
"""Statements that Python has no keyword for."""


def statement_name(node: ast.stmt) -> str:
    """What a message calls a statement: its keyword, if it has one."""
    return _NAMES.get(type(node), f"'{type(node).__name__.lower()}'")
