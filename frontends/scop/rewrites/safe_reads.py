"""Reads of a loop that is left early: elements that exist in every iteration.

::

    if (!stopped) { if (x[i] == key) ... }     if (!stopped) { if (x[stopped ? 0 : i] == key) ... }

A conditional read becomes an unconditional one, because values are selected, not branched on. Where
the extent of ``x`` is unknown, an iteration after the exit must not read ``x[i]``. It reads the
element of the first iteration instead, which the program has read if the loop runs at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pycparser import c_ast

from polysched.frontends.scop.rewrites.usage import base_name, changed_by
from polysched.frontends.scop.source.trees import (
    SafeSubscript,
    loop_start,
    mapped,
    names_in,
    substituted,
    walk,
)

_EXITS = (c_ast.Return, c_ast.Break, c_ast.Continue)
_OTHERS = (
    *_EXITS, c_ast.For, c_ast.While, c_ast.DoWhile, c_ast.Switch, c_ast.FuncCall, c_ast.Goto
)  # fmt: skip


def with_safe_reads(
    node: c_ast.For, items: Sequence[c_ast.Node], flag: str
) -> tuple[c_ast.Node, ...]:
    """Return the body of a loop with reads that are safe after the loop has been left.

    Only reads change that every iteration performs before the first statement that may leave.

    Args:
        node: the loop.
        items: the statements of its body.
        flag: the variable that is not 0 after the loop has been left.
    """
    start = loop_start(node)
    if start is None:
        return tuple(items)
    name, first = start
    inside = list(walk(node.stmt))
    changed = {base_name(changed_by(inner) or node) for inner in inside}
    changed |= {inner.name for inner in inside if isinstance(inner, c_ast.Decl)}
    if changed & {name, *names_in(first)}:
        return tuple(items)
    return tuple(_Reads(name, first, flag, frozenset(changed)).until_exit(items))


@dataclass(frozen=True)
class _Reads:
    """Rewriting of one loop body.

    Attributes:
        name: the loop variable.
        first: its first value.
        flag: the variable that is not 0 after the loop has been left.
        changed: the names that the body changes or declares.
    """

    name: str
    first: c_ast.Node
    flag: str
    changed: frozenset[str]

    def until_exit(self, items: Sequence[c_ast.Node]) -> list[c_ast.Node]:
        """Rewrite statements up to the first one that may leave the loop, and its condition."""
        for position, item in enumerate(items):
            if any(isinstance(inner, _EXITS) for inner in walk(item)):
                return [*map(self.evaluated, items[: position + 1]), *items[position + 1 :]]
        return [self.evaluated(item) for item in items]

    def evaluated(self, node: c_ast.Node) -> c_ast.Node:
        """Rewrite the parts of a statement that are always evaluated."""
        match node:
            case c_ast.TernaryOp(cond=cond):
                return c_ast.TernaryOp(self.evaluated(cond), node.iftrue, node.iffalse, node.coord)
            case c_ast.BinaryOp(op="&&" | "||" as operator, left=left, right=right):
                return c_ast.BinaryOp(operator, self.evaluated(left), right, node.coord)
            case c_ast.If(cond=cond):
                return c_ast.If(self.evaluated(cond), node.iftrue, node.iffalse, node.coord)
            case c_ast.Compound(block_items=[*items]):
                return c_ast.Compound(self.until_exit(items), node.coord)
            case c_ast.Assignment(lvalue=target, rvalue=value):
                return c_ast.Assignment(node.op, target, self.evaluated(value), node.coord)
            case c_ast.ArrayRef(name=c_ast.ID(name=array) as own, subscript=by):
                if self.changed & {array, *names_in(by)}:
                    return node
                first = substituted(by, {self.name: self.first})
                stopped = c_ast.ID(self.flag, node.coord)
                return c_ast.ArrayRef(own, SafeSubscript(stopped, first, by, by.coord), node.coord)
        if isinstance(node, _OTHERS) or changed_by(node) is not None:
            return node
        return mapped(node, self.evaluated)
