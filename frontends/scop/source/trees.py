"""Syntax trees: walking, names, substitution, casts, mapping over children."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from pycparser import c_ast

LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
"""The kinds of loops."""


class StandIn(c_ast.ID):  # type: ignore[misc]  # pycparser is untyped
    """Name of a new variable; messages show the source expression that it stands for."""

    def __init__(self, name: str, source: c_ast.Node) -> None:
        super().__init__(name, source.coord)
        self.source = source


class Distance(c_ast.ID):  # type: ignore[misc]  # pycparser is untyped
    """Number of elements by which a pointer has moved so far."""


class Factor(c_ast.Node):  # type: ignore[misc]  # pycparser is untyped
    """Factor of a product of sizes; sizes are excluded for which it is negative, or too large.

    The product of factors up to `greatest` does not wrap around; None for a signed product.
    """

    __slots__ = ("__weakref__", "coord", "expr", "greatest", "product")

    def __init__(self, expr: c_ast.Node, product: c_ast.Node, greatest: int | None) -> None:
        self.expr, self.product, self.coord = expr, product, product.coord
        self.greatest = greatest

    def children(self) -> tuple[tuple[str, c_ast.Node], ...]:
        """Return the factor."""
        return (("expr", self.expr),)


def cast_to(type_: c_ast.Node, node: c_ast.Node) -> c_ast.Cast:
    """Return ``(type_)node``."""
    return c_ast.Cast(c_ast.Typename(None, [], None, type_), node, node.coord)


def substituted(node: c_ast.Node, values: Mapping[str, c_ast.Node]) -> c_ast.Node:
    """Replace variables by expressions; the names of called functions stay."""
    if isinstance(node, c_ast.ID):
        return values.get(node.name, node)
    if isinstance(node, c_ast.FuncCall):
        arguments = None if node.args is None else substituted(node.args, values)
        return c_ast.FuncCall(node.name, arguments, node.coord)
    return mapped(node, lambda child: substituted(child, values))


def mapped(node: c_ast.Node, function: Callable[[c_ast.Node], c_ast.Node]) -> c_ast.Node:
    """Apply `function` to the children of a node; the node itself if no child changes."""
    changed = {}
    for slot in _slots_of_nodes(type(node)):  # type: ignore[arg-type]  # pycparser is untyped
        value = getattr(node, slot)
        if isinstance(value, c_ast.Node):
            child: object = function(value)
            if child is not value:
                changed[slot] = child
        elif isinstance(value, list):
            children = [function(old) if isinstance(old, c_ast.Node) else old for old in value]
            if any(old is not new for old, new in zip(value, children, strict=True)):
                changed[slot] = children
    if not changed:
        return node
    result = copy.copy(node)
    for slot, value in changed.items():
        setattr(result, slot, value)
    return result


@cache
def _slots_of_nodes(kind: type[c_ast.Node]) -> tuple[str, ...]:
    """Return the slots of a kind of node that may hold nodes, or lists of them."""
    # pycparser lists `align` among the attributes, but it holds nodes.
    others = {"coord", "__weakref__", *kind.attr_names} - {"align"}
    return tuple(slot for slot in kind.__slots__ if slot not in others)


def walk(node: c_ast.Node) -> Iterator[c_ast.Node]:
    """Yield a node and all below, in preorder."""
    open_nodes = [node]
    while open_nodes:
        node = open_nodes.pop()
        yield node
        children = node.children()
        if children:
            open_nodes += [child for _, child in children[::-1]]


def names_in(node: c_ast.Node) -> list[str]:
    """Return the names that a node uses."""
    return [inner.name for inner in walk(node) if isinstance(inner, c_ast.ID)]


def loop_start(node: c_ast.For) -> tuple[str, c_ast.Node] | None:
    """Return the variable that the header of a loop sets, and its first value; None for others."""
    match node.init:
        case c_ast.DeclList(decls=[c_ast.Decl(name=str(name), init=c_ast.Node() as first)]):
            return name, first
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=str(name)), rvalue=first):
            return name, first
        case _:
            return None


def is_zero(node: c_ast.Node) -> bool:
    """Whether a node is the literal 0."""
    return isinstance(node, c_ast.Constant) and node.value == "0"


def with_stand_ins(node: c_ast.Node, names: Mapping[str, str]) -> c_ast.Node:
    """Replace variables by others; messages show the variables of the source."""
    if isinstance(node, c_ast.ID):
        return StandIn(names[node.name], node) if node.name in names else node
    return mapped(node, lambda child: with_stand_ins(child, names))
