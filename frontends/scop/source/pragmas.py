"""Read ``#pragma polysched ...`` and ``#pragma STDC FP_CONTRACT``.

::

    #pragma polysched shape A[n][m]           The pointer A is a row-major array of this shape.
    #pragma polysched assume n >= 1 && m < n  Every caller guarantees this condition on sizes.
    #pragma polysched reassociate             The next statement is a reduction whose terms may be
                                              combined in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pycparser import c_ast, c_parser

from polysched.errors import FrontendError, suggestion
from polysched.frontends.scop.source.parse import ParsedSource
from polysched.frontends.scop.source.source_map import SourceMap

REASSOCIATE = "reassociate"
_KINDS = ("shape", "assume", REASSOCIATE)


@dataclass(frozen=True)
class Pragmas:
    """Pragmas of a function.

    Attributes:
        shapes: declared shapes by array name.
        assumptions: each condition with its pragma.
        fp_contract: whether ``#pragma STDC FP_CONTRACT ON`` is given; off by default.
    """

    shapes: dict[str, Shape]
    assumptions: tuple[tuple[c_ast.Node, c_ast.Pragma], ...]
    fp_contract: bool


@dataclass(frozen=True)
class Shape:
    """Declared shape of an array: its extents, outermost first, and the pragma."""

    extents: tuple[c_ast.Node, ...]
    node: c_ast.Pragma


def pragma_of(node: c_ast.Node, source_map: SourceMap) -> tuple[str, str] | None:
    """Split a polysched pragma into its kind and the text after it; None for any other node."""
    if not isinstance(node, c_ast.Pragma):
        return None
    words = node.string.split(None, 2)
    if words[:1] != ["polysched"]:
        return None
    kind = words[1] if len(words) > 1 else ""
    if kind not in _KINDS:
        raise source_map.error(node, f"unknown pragma '{kind}'{suggestion(kind, _KINDS)}")
    return kind, words[2] if len(words) > 2 else ""


def pragmas_of(parsed: ParsedSource, function: c_ast.FuncDef) -> Pragmas:
    """Collect the pragmas of a function and those at file scope."""
    shapes: dict[str, Shape] = {}
    assumptions = []
    fp_contract = False
    outer = [node for node in parsed.tree.ext if isinstance(node, c_ast.Pragma)]
    for node in (*outer, *_inside(function.body)):
        words = node.string.split()
        if words[:2] == ["STDC", "FP_CONTRACT"]:
            fp_contract = words[2:] == ["ON"]
        pragma = pragma_of(node, parsed.source_map)
        if pragma is None or pragma[0] == REASSOCIATE:
            continue
        kind, text = pragma
        expression = _expression(parsed, node, text)
        if kind == "assume":
            assumptions.append((expression, node))
            continue
        name, extents = _shape(parsed, node, expression)
        if name in shapes:
            raise parsed.source_map.error(node, f"the shape of '{name}' is declared twice")
        shapes[name] = Shape(tuple(extents), node)
    return Pragmas(shapes, tuple(assumptions), fp_contract)


def _inside(node: c_ast.Node) -> Iterator[c_ast.Pragma]:
    if isinstance(node, c_ast.Pragma):
        yield node
    for _, child in node.children():
        yield from _inside(child)


def _expression(parsed: ParsedSource, node: c_ast.Pragma, text: str) -> c_ast.Node:
    """Parse the expression of a pragma; its nodes get their positions in the file."""
    before = node.coord.column - 1 + node.string.rfind(text)
    program = "\n" * (node.coord.line - 2) + f"int _pragma =\n{' ' * before}{text};"
    try:
        tree = c_parser.CParser().parse(program)
        (declaration,) = tree.ext
        expression = declaration.init
    except (c_parser.ParseError, ValueError, AttributeError):
        expression = None
    if not isinstance(expression, c_ast.Node) or ";" in text:
        raise parsed.source_map.error(
            node,
            f"'{text}' is not an expression; expected a pragma such as 'shape A[n][m]' or 'assume "
            "n >= 1'",
        )
    return expression


def _shape(
    parsed: ParsedSource, node: c_ast.Pragma, expression: c_ast.Node
) -> tuple[str, list[c_ast.Node]]:
    extents: list[c_ast.Node] = []
    while isinstance(expression, c_ast.ArrayRef):
        extents.insert(0, expression.subscript)
        expression = expression.name
    if not isinstance(expression, c_ast.ID) or not extents:
        raise _no_shape(parsed, node)
    return expression.name, extents


def _no_shape(parsed: ParsedSource, node: c_ast.Pragma) -> FrontendError:
    return parsed.source_map.error(
        node, "this declares no shape; expected a pragma such as 'shape A[n][m]'"
    )
