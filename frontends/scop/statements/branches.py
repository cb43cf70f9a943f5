"""Rewrites of ``if`` statements: partly affine conditions, selections, ``continue``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.affine.bindings import ArrayBinding
from polysched.frontends.scop.affine.expressions import condition
from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.statements.cases import Case
from polysched.frontends.scop.types.c_types import c_name
from polysched.ir.expr.dtypes import DType

_JOINING = frozenset({"&&", "||"})


def require_no_null_check(scope: Scope, node: c_ast.Node) -> None:
    """Check that no operand of a condition asks whether a pointer is null."""
    match node:
        case c_ast.BinaryOp(op="&&" | "||" | "==" | "!=", left=left, right=right):
            require_no_null_check(scope, left)
            require_no_null_check(scope, right)
        case c_ast.UnaryOp(op="!", expr=operand):
            require_no_null_check(scope, operand)
        case c_ast.ID(name=name):
            binding = scope.find(name)
            if isinstance(binding, ArrayBinding) and binding.rank:
                raise scope.error(
                    node,
                    f"a check whether the pointer '{name}' is NULL, which a kernel does not know; "
                    "expected the check outside the region",
                )


def affine_part(scope: Scope, node: c_ast.Node) -> Case | None:
    """Return the first affine operand of the ``&&``, ``||`` and ``!`` of a condition, if any."""
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
            inner = affine_part(scope, part)
        if inner is not None:
            return inner
    return None


def decided(node: c_ast.Node, part: c_ast.Node, outcome: bool) -> c_ast.Node | bool:
    """Substitute the truth value `outcome` for one part of a condition and simplify."""
    if node is part:
        return outcome
    match node:
        case c_ast.BinaryOp(op=operator) if operator in _JOINING:
            left, right = (decided(side, part, outcome) for side in (node.left, node.right))
            for side, other in ((left, right), (right, left)):
                if isinstance(side, bool):
                    return other if side == (operator == "&&") else side
            return c_ast.BinaryOp(operator, left, right, node.coord)
        case c_ast.UnaryOp(op="!"):
            inner = decided(node.expr, part, outcome)
            return not inner if isinstance(inner, bool) else c_ast.UnaryOp("!", inner, node.coord)
    return node


def only_assignment(node: c_ast.Node | None) -> c_ast.Assignment | None:
    """Return the assignment if a branch is a single unchained assignment; otherwise None."""
    match node:
        case c_ast.Compound(block_items=[only]):
            return only_assignment(only)
        case c_ast.Assignment(rvalue=value) if not isinstance(value, c_ast.Assignment):
            return node
    return None


def same_assignment(
    node: c_ast.Node | None, text: Callable[[c_ast.Node], str]
) -> c_ast.Assignment | None:
    """Return the first assignment of a branch if all ways through it are one plain assignment each.

    All of them have the same target. A branch is an assignment, or an ``if`` with both sides.

    Args:
        text: returns the text of a node, by which targets are compared.
    """
    inner = _only(node)
    if isinstance(inner, c_ast.If):
        sides = [same_assignment(side, text) for side in (inner.iftrue, inner.iffalse)]
        first, second = sides
        if first is None or second is None:
            return None
        return first if text(first.lvalue) == text(second.lvalue) else None
    found = only_assignment(inner)
    return found if found is not None and found.op == "=" else None


def as_choice(node: c_ast.If, dtype: DType) -> c_ast.Assignment:
    """Rewrite ``if (c) x = a; else x = b;`` to ``x = c ? (T)a : (T)b;``, T being the type of x.

    Sides that are such statements themselves become choices within the choice.
    """
    first, second = (_chosen(side, dtype) for side in (node.iftrue, node.iffalse))
    value = c_ast.TernaryOp(node.cond, first.rvalue, second.rvalue, node.coord)
    return c_ast.Assignment("=", first.lvalue, value, first.coord)


def _chosen(node: c_ast.Node | None, dtype: DType) -> c_ast.Assignment:
    inner = _only(node)
    if isinstance(inner, c_ast.If):
        return as_choice(inner, dtype)
    assert isinstance(inner, c_ast.Assignment)
    return c_ast.Assignment("=", inner.lvalue, _cast(inner.rvalue, dtype), inner.coord)


def _only(node: c_ast.Node | None) -> c_ast.Node | None:
    """Return the only statement of a block; any other node itself."""
    match node:
        case c_ast.Compound(block_items=[only]):
            return _only(only)
    return node


def _cast(node: c_ast.Node, dtype: DType) -> c_ast.Cast:
    names = c_ast.IdentifierType(c_name(dtype).split(), node.coord)
    return c_ast.Cast(
        c_ast.Typename(None, [], None, c_ast.TypeDecl(None, [], None, names)), node, node.coord
    )


def without_continue(body: c_ast.Node) -> c_ast.Node:
    """Rewrite ``if (c) continue; rest`` in a loop body to ``if (c) {} else {rest}``."""
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
