"""Remove ``with np.errstate(divide="ignore"):`` around statements, which changes no value."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np

from polysched.frontends.python.source.called_functions import meant

_SILENT = frozenset({"ignore", "warn", "print", "log"})
"""Reactions to floating-point errors that keep the value; compiled code has none of them."""


def without_error_states(node: ast.FunctionDef, outer: Mapping[str, Any]) -> ast.FunctionDef:
    """Return the function with the bodies of ``with np.errstate(...)`` in place of the statements.

    Args:
        outer: the names outside of the function.
    """
    if not any(_is_error_state(part, outer) for part in ast.walk(node)):
        return node
    changed = copy(node)
    changed.body = _without(node.body, outer)
    return changed


def _without(body: list[ast.stmt], outer: Mapping[str, Any]) -> list[ast.stmt]:
    statements: list[ast.stmt] = []
    for statement in body:
        inner = copy(statement)
        for name in ("body", "orelse", "finalbody"):
            if hasattr(inner, name):
                setattr(inner, name, _without(getattr(inner, name), outer))
        if isinstance(inner, ast.With) and _is_error_state(inner, outer):
            statements += inner.body
        else:
            statements.append(inner)
    return statements


def _is_error_state(node: ast.AST, outer: Mapping[str, Any]) -> bool:
    if not isinstance(node, ast.With) or len(node.items) != 1:
        return False
    call, variable = node.items[0].context_expr, node.items[0].optional_vars
    if not isinstance(call, ast.Call) or call.args or variable is not None:
        return False
    values = [
        keyword.value.value for keyword in call.keywords if isinstance(keyword.value, ast.Constant)
    ]
    is_silent = len(values) == len(call.keywords) and _SILENT.issuperset(values)
    return is_silent and meant(call.func, outer) is np.errstate
