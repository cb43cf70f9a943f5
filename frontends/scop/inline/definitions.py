"""Summaries of the functions that a C file defines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

from pycparser import c_ast

_Summary = TypeVar("_Summary")


def summaries_of(
    tree: c_ast.FileAST, summarize: Callable[[c_ast.FuncDef], _Summary | None]
) -> Mapping[str, _Summary]:
    """Apply `summarize` to each function definition; drop the functions that it maps to None."""
    summaries = {
        node.decl.name: summarize(node) for node in tree.ext if isinstance(node, c_ast.FuncDef)
    }
    return MappingProxyType(
        {name: summary for name, summary in summaries.items() if summary is not None}
    )
