"""Syntax trees written as C text: ``c_expression("first + count", at, first=start, count=end)``."""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import TypeAlias

from pycparser import c_ast
from pycparser.c_parser import CParser

from polysched.frontends.scop.source.trees import mapped

Part: TypeAlias = c_ast.Node | str
"""What stands for a name of a text: another name, or an expression or statement."""


def c_statement(text: str, at: c_ast.Node, **parts: Part) -> c_ast.Node:
    """Return the statement that a text is, with parts in place of names, at the place of a node."""
    return _filled(_parsed(text), parts, at.coord)


def c_expression(text: str, at: c_ast.Node, **parts: Part) -> c_ast.Node:
    """Return the expression that a text is, with parts in place of names, at a node's place."""
    return _filled(_parsed(f"{text};"), parts, at.coord)


def counting_loop(name: str, count: c_ast.Node, body: c_ast.Node, at: c_ast.Node) -> c_ast.Node:
    """Return a loop whose variable counts from 0 to below a number."""
    text = "for (long k = 0; k < count; k++) body;"
    return c_statement(text, at, k=name, count=count, body=body)


def variable(
    name: str, type_: c_ast.Node, value: c_ast.Node | None, at: c_ast.Node, *qualifiers: str
) -> c_ast.Decl:
    """Declare a number or a pointer of the type of another variable."""
    inner = type_.type if isinstance(type_, c_ast.PtrDecl) else type_
    quals = [*inner.quals] if inner is not type_ else [*qualifiers]
    own = c_ast.TypeDecl(name, quals, None, inner.type, at.coord)
    whole = own if inner is type_ else c_ast.PtrDecl([], own, at.coord)
    return c_ast.Decl(name, [*qualifiers], [], [], [], whole, value, None, at.coord)


@lru_cache(maxsize=1000)
def _parsed(text: str) -> c_ast.Node:
    return CParser().parse(f"void f(void) {{ {text} }}").ext[0].body.block_items[0]


def _filled(node: c_ast.Node, parts: dict[str, Part], coord: object) -> c_ast.Node:
    if isinstance(node, c_ast.ID) and isinstance(parts.get(node.name), c_ast.Node):
        return parts[node.name]
    result = copy.copy(mapped(node, lambda child: _filled(child, parts, coord)))
    result.coord = coord
    for attribute in ("name", "declname"):
        if getattr(result, attribute, None) in parts:
            setattr(result, attribute, parts[getattr(result, attribute)])
    return result
