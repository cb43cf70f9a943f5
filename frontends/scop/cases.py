"""Conditions inside values that decide which elements are read, such as ``i > 0 ? A[i-1] : 0``.

A selection computes both sides, so one that keeps a read inside its array must not be one. If its
condition is affine, the statement is declared once for each case, each on its own instances.
"""

from __future__ import annotations

from dataclasses import dataclass

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.affine import condition
from polysched.frontends.scop.scope import ArrayBinding, Scope
from polysched.frontends.scop.values import Decisions
from polysched.ir.expressions import Expression

MOST_CASES = 16
"""Statements that one of C may become."""


@dataclass(frozen=True)
class Case:
    """A part of a value whose meaning depends on an affine condition."""

    node: c_ast.Node
    condition: Expression


def next_case(scope: Scope, node: c_ast.Node, decisions: Decisions) -> Case | None:
    """The first undecided condition in a value that guards the read of an element."""
    guarded: tuple[c_ast.Node, ...] = ()
    match node:
        case c_ast.TernaryOp(cond=cond) if node not in decisions:
            guarded = (node.iftrue, node.iffalse)
        case c_ast.BinaryOp(op="&&" | "||", left=cond) if node not in decisions:
            guarded = (node.right,)
    if any(_reads_elements(scope, one) for one in guarded):
        holds = _affine_or_none(scope, cond)
        if holds is not None:
            return Case(node, holds)
    for name, child in node.children():
        if not _is_left_out(node, name, decisions):
            found = next_case(scope, child, decisions)
            if found is not None:
                return found
    return None


def _is_left_out(node: c_ast.Node, child: str, decisions: Decisions) -> bool:
    """Whether a child of a decided node is not computed."""
    if node not in decisions:
        return False
    if isinstance(node, c_ast.TernaryOp):
        return child in ("cond", "iffalse" if decisions[node] else "iftrue")
    return child == "left"


def _affine_or_none(scope: Scope, node: c_ast.Node) -> Expression | None:
    try:
        return condition(scope, node)
    except FrontendError:
        return None


def _reads_elements(scope: Scope, node: c_ast.Node) -> bool:
    """Whether a value reads an element of an array with dimensions."""
    if isinstance(node, c_ast.ArrayRef):
        return True
    if isinstance(node, c_ast.ID):
        found = scope.find(node.name)
        return isinstance(found, ArrayBinding) and found.rank > 0
    return any(_reads_elements(scope, child) for _, child in node.children())
