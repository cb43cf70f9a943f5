"""The functions that a file defines, as what they mean to callers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

from pycparser import c_ast

_Meaning = TypeVar("_Meaning")


def meanings_of(
    tree: c_ast.FileAST, find: Callable[[c_ast.FuncDef], _Meaning | None]
) -> Mapping[str, _Meaning]:
    """What `find` makes of each function, by name, but of those that mean nothing to it."""
    found = {node.decl.name: find(node) for node in tree.ext if isinstance(node, c_ast.FuncDef)}
    return MappingProxyType({name: one for name, one in found.items() if one is not None})
