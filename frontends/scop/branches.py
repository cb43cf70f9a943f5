"""Ifs rewritten into ifs that say the same: whose condition is in part affine, ``continue``."""

from __future__ import annotations

from collections.abc import Sequence

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.affine import condition
from polysched.frontends.scop.cases import Case
from polysched.frontends.scop.scope import Scope
from polysched.frontends.scop.types import c_name
from polysched.ir.dtypes import DType

_JOINING = frozenset({"&&", "||"})


def affine_part(scope: Scope, node: c_ast.Node) -> Case | None:
    """The first affine condition among those that && || and ! join."""
    match node:
        case c_ast.BinaryOp(op=operator) if operator in _JOINING:
            parts = [node.left, node.right]
        case c_ast.UnaryOp(op="!"):
            parts = [node.expr]
        case _:
            return None
    for part in parts:
        try:
            return Case(part, condition(scope, part))
        except FrontendError:
            found = affine_part(scope, part)
        if found is not None:
            return found
    return None


def decided(node: c_ast.Node, part: c_ast.Node, outcome: bool) -> c_ast.Node | bool:
    """What is left of a condition where one of its parts holds, or does not."""
    if node is part:
        return outcome
    match node:
        case c_ast.BinaryOp(op=operator) if operator in _JOINING:
            left, right = (decided(one, part, outcome) for one in (node.left, node.right))
            for one, other in ((left, right), (right, left)):
                if isinstance(one, bool):
                    return other if one == (operator == "&&") else one
            return c_ast.BinaryOp(operator, left, right, node.coord)
        case c_ast.UnaryOp(op="!"):
            inner = decided(node.expr, part, outcome)
            return not inner if isinstance(inner, bool) else c_ast.UnaryOp("!", inner, node.coord)
    return node


def only_assignment(node: c_ast.Node | None) -> c_ast.Assignment | None:
    """The one assignment that a branch is."""
    match node:
        case c_ast.Compound(block_items=[only]):
            return only_assignment(only)
        case c_ast.Assignment(rvalue=value) if not isinstance(value, c_ast.Assignment):
            return node
    return None


def as_choice(
    node: c_ast.If, first: c_ast.Assignment, second: c_ast.Assignment, dtype: DType
) -> c_ast.Assignment:
    """``if (c) x = a; else x = b;`` as ``x = c ? (T)a : (T)b;``, with the type T of x."""
    sides = [_cast(one.rvalue, dtype) for one in (first, second)]
    value = c_ast.TernaryOp(node.cond, *sides, node.coord)
    return c_ast.Assignment("=", first.lvalue, value, first.coord)


def _cast(node: c_ast.Node, dtype: DType) -> c_ast.Cast:
    names = c_ast.IdentifierType(c_name(dtype).split(), node.coord)
    return c_ast.Cast(
        c_ast.Typename(None, [], None, c_ast.TypeDecl(None, [], None, names)), node, node.coord
    )


def without_continue(body: c_ast.Node) -> c_ast.Node:
    """The body of a loop with ``if (c) continue;`` as an if around the rest."""
    if not isinstance(body, c_ast.Compound):
        return body
    items = _without_continue(tuple(body.block_items or ()))
    return c_ast.Compound(list(items), body.coord)


def _without_continue(items: Sequence[c_ast.Node]) -> Sequence[c_ast.Node]:
    for position, item in enumerate(items):
        match item:
            case c_ast.If(iftrue=c_ast.Continue(), iffalse=None):
                before: Sequence[c_ast.Node] = ()
            case c_ast.If(
                iftrue=c_ast.Compound(block_items=[*before, c_ast.Continue()]), iffalse=None
            ):
                pass
            case _:
                continue
        rest = c_ast.Compound(list(_without_continue(items[position + 1 :])), item.coord)
        skipped = c_ast.Compound(list(before), item.coord)
        return *items[:position], c_ast.If(item.cond, skipped, rest, item.coord)
    return items
