"""Names of Python's statements and expressions in messages."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import MappingProxyType

from polysched.frontends.python.source.records import RecordTree

_NAMES: Mapping[type[ast.AST], str] = MappingProxyType(
    {
        ast.Assign: "an assignment to several targets",
        ast.AsyncFor: "'async for'",
        ast.AsyncFunctionDef: "a function",
        ast.AsyncWith: "'async with'",
        ast.Await: "'await'",
        ast.BinOp: "this operator",
        ast.ClassDef: "a class",
        ast.Delete: "'del'",
        ast.Dict: "a dictionary",
        ast.DictComp: "a dictionary comprehension",
        ast.Expr: "an expression whose value is not used",
        ast.FunctionDef: "a function",
        ast.GeneratorExp: "a generator expression",
        ast.ImportFrom: "'import'",
        ast.JoinedStr: "a formatted string",
        ast.Lambda: "'lambda'",
        ast.List: "a list (np.array([...]) makes an array of it, np.empty one to fill)",
        ast.ListComp: "a list comprehension (np.empty makes an array to fill)",
        ast.NamedExpr: "an assignment expression, ':=',",
        RecordTree: "a whole dictionary, tuple or record, not one of its values,",
        ast.Set: "a set",
        ast.SetComp: "a set comprehension",
        ast.Slice: "a slice",
        ast.Starred: "an argument with a star",
        ast.TryStar: "'try'",
        ast.Tuple: "a tuple (np.array((...)) makes an array of it)",
        ast.Yield: "'yield'",
        ast.YieldFrom: "'yield'",
    }
)
"""Names of nodes whose keyword is not the name of their class."""


def node_name(node: ast.stmt | ast.expr) -> str:
    """The name of a statement or an expression in messages: its keyword, if it has one."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return f"a call whose value is not used, '{ast.unparse(node.value.func)}(...)',"
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield | ast.YieldFrom):
        node = node.value
    return _NAMES.get(type(node), f"'{type(node).__name__.lower()}'")
