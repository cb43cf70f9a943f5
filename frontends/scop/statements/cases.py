"""Affine conditions inside values that guard array reads, such as ``i > 0 ? A[i-1] : 0``.

A ``select`` evaluates both operands, so it cannot keep a read within the bounds of its array. If
the condition is affine, the statement is declared once per outcome, with the condition in its
domain.
"""

from __future__ import annotations

from dataclasses import dataclass

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.affine.bindings import ArrayBinding
from polysched.frontends.scop.affine.expressions import condition
from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.statements.values import Decisions
from polysched.ir.expr.expressions import Expression

MOST_CASES = 16
"""Largest number of kernel statements that one C statement is split into."""


@dataclass(frozen=True)
class Case:
    """Conditional part of a C expression, with its affine condition."""

    node: c_ast.Node
    condition: Expression


def next_case(scope: Scope, node: c_ast.Node, decisions: Decisions) -> Case | None:
    """Return the first undecided affine condition in a value that guards an array read."""
    guarded: tuple[c_ast.Node, ...] = ()
    match node:
        case c_ast.TernaryOp(cond=cond) if node not in decisions:
            guarded = (node.iftrue, node.iffalse)
        case c_ast.BinaryOp(op="&&" | "||", left=cond) if node not in decisions:
            guarded = (node.right,)
    if any(_reads_elements(scope, operand) for operand in guarded):
        holds = _affine_or_none(scope, cond)
        if holds is not None:
            return Case(node, holds)
    for name, child in node.children():
        if not _is_dropped(node, name, decisions):
            case = next_case(scope, child, decisions)
            if case is not None:
                return case
    return None


def _is_dropped(node: c_ast.Node, child: str, decisions: Decisions) -> bool:
    """Whether the decision on a node makes its operand `child` dead."""
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
    """Whether an expression reads an array; scalars do not count."""
    if isinstance(node, c_ast.ArrayRef):
        return True
    if isinstance(node, c_ast.ID):
        binding = scope.find(node.name)
        return isinstance(binding, ArrayBinding) and binding.rank > 0
    return any(_reads_elements(scope, child) for _, child in node.children())
