"""Move increments out of the subscripts of assignments.

::

    x[k++] = y[--m];            m--;  x[k] = y[m];  k++;
    out[count[k]++] = x[i];     long position = count[k];  count[k]++;  out[position] = x[i];

C leaves open when an increment is performed within an assignment, and forbids every other use of
the same variable in it, so it may stand before or after.
"""

from __future__ import annotations

from collections.abc import Iterator

from pycparser import c_ast

from polysched.frontends.scop.source.trees import mapped, names_in, walk

_STEPS = frozenset({"p++", "++", "p--", "--"})


def with_steps_apart(node: c_ast.Node) -> c_ast.Node:
    """Rewrite the assignments of a statement that increment something in their subscripts."""
    match node:
        case c_ast.Compound(block_items=[*items]):
            changed = [with_steps_apart(item) for item in items]
            return node if changed == items else c_ast.Compound(changed, node.coord)
        case c_ast.If(cond=cond):
            sides = [side and with_steps_apart(side) for side in (node.iftrue, node.iffalse)]
            return c_ast.If(cond, *sides, node.coord)
        case c_ast.For():
            body = with_steps_apart(node.stmt)
            return c_ast.For(node.init, node.cond, node.next, body, node.coord)
        case c_ast.While() | c_ast.DoWhile():
            return type(node)(node.cond, with_steps_apart(node.stmt), node.coord)
        case c_ast.Assignment():
            return _split(node)
    return node


def _split(node: c_ast.Assignment) -> c_ast.Node:
    moves = list(_moves(node))
    steps = [n for n in walk(node) if isinstance(n, c_ast.UnaryOp) and n.op in _STEPS]
    if not moves or len(steps) != len(moves):
        return node  # an increment that is no whole subscript, or may not be evaluated
    before: list[c_ast.Node] = []
    after: list[c_ast.Node] = []
    values: dict[int, c_ast.Node] = {}
    for move in moves:
        values[id(move)] = move.expr
        is_late = move.op.startswith("p")
        if isinstance(move.expr, c_ast.ID):
            (after if is_late else before).append(move)
            continue
        name = _fresh(node, len(before))
        type_ = c_ast.TypeDecl(name, [], None, c_ast.IdentifierType(["long"]), move.coord)
        held = c_ast.Decl(name, [], [], [], [], type_, move.expr, None, move.coord)
        before += [held, move] if is_late else [move, held]
        values[id(move)] = c_ast.ID(name, move.coord)

    def replaced(inner: c_ast.Node) -> c_ast.Node:
        return values.get(id(inner)) or mapped(inner, replaced)

    return c_ast.Compound([*before, replaced(node), *after], node.coord)


def _moves(node: c_ast.Node) -> Iterator[c_ast.UnaryOp]:
    """Yield the increments that are whole subscripts and always evaluated."""
    match node:
        case c_ast.TernaryOp(cond=first) | c_ast.BinaryOp(op="&&" | "||", left=first):
            yield from _moves(first)
            return
        case c_ast.ArrayRef(subscript=c_ast.UnaryOp(op=operator) as move) if operator in _STEPS:
            yield from _moves(node.name)
            yield move
            return
    for _, child in node.children():
        yield from _moves(child)


def _fresh(node: c_ast.Node, number: int) -> str:
    name = f"position{number or ''}"
    while name in names_in(node):
        name += "_"
    return name
