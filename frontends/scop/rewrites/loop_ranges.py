"""Numbers of iterations of loops that count, as C expressions."""

from __future__ import annotations

from collections.abc import Sequence

from pycparser import c_ast

from polysched.frontends.scop.rewrites.after_loops import exclusive_end, step_of
from polysched.frontends.scop.source.quoting import c_expression
from polysched.frontends.scop.source.trees import is_zero, loop_start

ZERO = c_ast.Constant("int", "0")


class NotUnderstoodError(Exception):
    """The pointer moves in a way that has no subscript."""


def times(left: c_ast.Node, right: c_ast.Node) -> c_ast.Node:
    """Return a product; factors 0 and 1 are folded."""
    if is_zero(left) or (isinstance(right, c_ast.Constant) and right.value == "1"):
        return left
    if isinstance(left, c_ast.Constant) and left.value == "1":
        return right
    return combined("*", left, right)


def combined(operator: str, left: c_ast.Node, right: c_ast.Node) -> c_ast.BinaryOp:
    """Return an operation at the position of its operands."""
    return c_ast.BinaryOp(operator, left, right, left.coord or right.coord)


def counted(node: c_ast.For, steps: Sequence[c_ast.Node]) -> tuple[str, c_ast.Node, c_ast.Node]:
    """Return the variable of a loop, and the numbers of its past and of all iterations."""
    moves = [move for move in map(step_of, steps) if move is not None]
    if len(moves) == 1 and abs(moves[0][1]) > 1:
        return _by_steps(node, *moves[0])
    variable, done, count, step = _range(node)
    counting = [move[1] for move in map(step_of, steps) if move is not None and move[0] == variable]
    if counting != ([] if step is None else [step]):
        raise NotUnderstoodError
    return variable, done, count


def _by_steps(node: c_ast.For, name: str, by: int) -> tuple[str, c_ast.Node, c_ast.Node]:
    """Return the result of `_counted` for a loop whose variable steps by more than 1."""
    start = loop_start(node)
    end = exclusive_end(node.cond, name, by, c_ast.IdentifierType(["long"]))
    if start is None or start[0] != name or end is None:
        raise NotUnderstoodError
    index, first = (as_long(part) for part in (c_ast.ID(name, node.coord), start[1]))
    pairs = ((index, first), (end, first)) if by > 0 else ((first, index), (first, end))
    done, length = (_less(*pair) for pair in pairs)
    size = abs(by)
    count = c_expression(f"(length + {size - 1}) / {size}", node, length=length)
    return name, c_expression(f"done / {size}", node, done=done), count


def _range(node: c_ast.For) -> tuple[str, c_ast.Node, c_ast.Node, int | None]:
    """Analyze a loop that counts up or down by 1.

    Returns:
        The variable, the number of iterations before the current one, the number of all
        iterations, and the step; None instead of a step that the condition contains.
    """
    start = loop_start(node)
    if start is None:
        raise NotUnderstoodError
    name, first = start
    index: c_ast.Node = c_ast.ID(name, node.coord)
    match node.cond:
        case c_ast.BinaryOp(op=relation, left=c_ast.ID(name=tested), right=end) if tested == name:
            if relation == "!=" and (by := step_of(node.next)) in ((name, 1), (name, -1)):
                relation = "<" if by == (name, 1) else ">"
            step: int | None = 1 if relation in ("<", "<=") else -1
        case (
            c_ast.BinaryOp(
                op=">", left=c_ast.UnaryOp(op="p--", expr=c_ast.ID(name=tested)), right=end
            )
            | c_ast.UnaryOp(op="p--", expr=c_ast.ID(name=tested) as end)
        ) if tested == name and _is_signed(node.init):
            relation, step = "--", None
            end = end if isinstance(node.cond, c_ast.BinaryOp) else ZERO
        case _:
            raise NotUnderstoodError
    # Products with the distance must not wrap around.
    index, first, end = (as_long(part) for part in (index, first, end))
    one = c_ast.Constant("int", "1", node.coord)
    match relation:
        case "<":
            return name, _less(index, first), _less(end, first), step
        case "<=":
            return name, _less(index, first), _less(combined("+", end, one), first), step
        case ">":
            return name, _less(first, index), _less(first, end), step
        case ">=":
            return name, _less(first, index), _less(combined("+", first, one), end), step
        case "--":
            return name, _less(_less(first, one), index), _less(first, end), step
    raise NotUnderstoodError


def _less(left: c_ast.Node, right: c_ast.Node) -> c_ast.Node:
    return left if is_zero(right) else combined("-", left, right)


def _is_signed(init: c_ast.Node) -> bool:
    """Whether the header of a loop declares its variable with a plain signed type."""
    match init:
        case c_ast.DeclList(decls=[c_ast.Decl(type=c_ast.TypeDecl(type=type_))]):
            return set(getattr(type_, "names", ())) <= {"int", "long", "short", "signed"}
    return True


def as_long(node: c_ast.Node) -> c_ast.Node:
    """Return ``(long)node``; a literal stays."""
    return node if isinstance(node, c_ast.Constant) else c_expression("(long)node", node, node=node)
