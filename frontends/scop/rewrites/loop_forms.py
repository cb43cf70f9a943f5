"""Bring loops to the forms that :mod:`.counting` knows.

::

    while (1) { if (i >= n) break; ...; }       ->  while (i < n) { ...; }
    do { if (i >= n) break; ...; } while (i < n);   while (i < n) { ...; }
    while (i < j) { a; i++; f(i); j--; }        ->  while (i < j) { a; f(i + 1); i++; j--; }
    for (s = 0, i = 1; i <= n; i++) f(i);       ->  s = 0; i = 1; for (; i <= n; i++) f(i);
    for (i = 0; i < n; s += x[i], i++) f(i);    ->  for (i = 0; i < n; i++) { f(i); s += x[i]; }
    for (; n--; p++) f(p);                      ->  while (n--) { f(p); p++; }
"""

from __future__ import annotations

from collections.abc import Sequence

from pycparser import c_ast

from polysched.frontends.scop.rewrites.after_loops import step_of
from polysched.frontends.scop.rewrites.size_values import c_text
from polysched.frontends.scop.rewrites.usage import changed_by, changed_names, declared_names
from polysched.frontends.scop.source.trees import loop_start, names_in, substituted, walk

_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


def with_known_form(node: c_ast.Node) -> list[c_ast.Node]:
    """Return a loop in a form that counts, after the statements that its header executed first.

    Statements that are no loops, and loops of other forms, stay.
    """
    match node:
        case c_ast.For(init=None, cond=None, next=None) | c_ast.While(cond=c_ast.Constant()):
            node = _with_condition(node)
        case c_ast.DoWhile(stmt=c_ast.Compound(block_items=[first, *rest])):
            # The test at the end repeats the one at the start.
            leaves, body = _left_if(first), c_ast.Compound(rest, node.coord)
            is_last = leaves is not None and not _has(body, c_ast.Break | c_ast.Continue)
            if is_last and c_text(_negated(leaves)) == c_text(node.cond):
                node = c_ast.While(node.cond, body, node.coord)
    before: list[c_ast.Node] = []
    if isinstance(node, c_ast.For):
        before, node = _with_one_start(node)
        node = _with_one_step(node)
    if isinstance(node, c_ast.While):
        node = c_ast.While(node.cond, _with_steps_last(node.stmt, names_in(node.cond)), node.coord)
    declarations = [statement for statement in before if isinstance(statement, c_ast.Decl)]
    return [c_ast.Compound([*before, node], node.coord)] if declarations else [*before, node]


def _with_condition(node: c_ast.Node) -> c_ast.Node:
    """Return an endless loop that begins or ends with a conditional ``break`` with a condition."""
    if isinstance(node, c_ast.While) and node.cond.value == "0":
        return node
    items = items_of(node.stmt)
    leaves = [_left_if(item) for item in items]
    compared = [name for cond in leaves if cond is not None for name in names_in(cond)]
    if not any(_steps_one_of(inner, compared) for inner in walk(node.stmt)):
        return node
    rest = c_ast.Compound(items[1:], node.coord)
    if leaves and leaves[0] is not None and not _has(rest, c_ast.Break):
        return c_ast.While(_negated(leaves[0]), rest, node.coord)
    rest = c_ast.Compound(items[:-1], node.coord)
    if leaves and leaves[-1] is not None and not _has(rest, c_ast.Break | c_ast.Continue):
        return c_ast.DoWhile(_negated(leaves[-1]), rest, node.coord)
    return node


def _left_if(node: c_ast.Node) -> c_ast.Node | None:
    """Return the condition of a statement ``if (c) break;``."""
    match node:
        case c_ast.If(cond=cond, iffalse=None, iftrue=side):
            return (
                cond if [type(statement) for statement in items_of(side)] == [c_ast.Break] else None
            )
    return None


def _negated(cond: c_ast.Node) -> c_ast.Node:
    """Negate a condition; only a comparison of integers counts in a loop."""
    if isinstance(cond, c_ast.BinaryOp) and cond.op in _OPPOSITE and not _has(cond, c_ast.ArrayRef):
        return c_ast.BinaryOp(_OPPOSITE[cond.op], cond.left, cond.right, cond.coord)
    return c_ast.UnaryOp("!", cond, cond.coord)


def _with_one_start(node: c_ast.For) -> tuple[list[c_ast.Node], c_ast.For]:
    """Return the header statements ahead of the first value of the loop variable, and the loop."""
    init = node.init
    before: list[c_ast.Node] = []
    match init:
        case c_ast.ExprList(exprs=[*before]):
            init = None
        case c_ast.DeclList(decls=declared) if node.next is not None:
            moved = changed_names(node.next)
            before = [declaration for declaration in declared if declaration.name not in moved]
            kept = [declaration for declaration in declared if declaration.name in moved]
            if len(kept) > 1 or any(
                {declaration.name for declaration in before} & {*names_in(k)} for k in kept
            ):
                return [], node
            init = c_ast.DeclList(kept, init.coord) if kept else None
        case c_ast.Assignment(op="=", rvalue=c_ast.Assignment(op="=", lvalue=c_ast.ID()) as inner):
            before = [inner]
            value = inner.rvalue if isinstance(inner.rvalue, c_ast.Constant) else inner.lvalue
            init = c_ast.Assignment("=", init.lvalue, value, init.coord)
    return before, c_ast.For(init, node.cond, node.next, node.stmt, node.coord)


def _with_one_step(node: c_ast.For) -> c_ast.Node:
    """Move everything but the step of one variable from the header to the end of the body."""
    steps = node.next.exprs if isinstance(node.next, c_ast.ExprList) else [node.next]
    if node.cond is None or None in steps or _has(node.stmt, c_ast.Continue):
        return node
    if node.init is None and any(changed_by(inner) is not None for inner in walk(node.cond)):
        return c_ast.While(node.cond, c_ast.Compound([node.stmt, *steps], node.coord), node.coord)
    names = names_in(node.cond)
    started = loop_start(node)
    if started is not None and started[0] in names:
        names = [started[0]]
    own = [position for position, step in enumerate(steps) if _steps_one_of(step, names)]
    if len(steps) == 1 or len(own) != 1:
        return node
    body = _moved_last([*items_of(node.stmt), *steps], len(items_of(node.stmt)) + own[0])
    if body is None:
        return node
    return c_ast.For(
        node.init, node.cond, body[-1], c_ast.Compound(body[:-1], node.coord), node.coord
    )


def _with_steps_last(body: c_ast.Node, names: Sequence[str]) -> c_ast.Node:
    """Move the steps of the variables that the condition of a loop compares to its end."""
    if _has(body, c_ast.Continue):
        return body
    items = flat(items_of(body))
    last = len(items) - 1
    changed = False
    for position in range(last, -1, -1):
        if _steps_one_of(items[position], names):
            if position < last:
                moved = _moved_last(items, position)
                items, changed = moved or items, changed or moved is not None
            last -= 1
    return c_ast.Compound(items, body.coord) if changed else body


def _moved_last(items: Sequence[c_ast.Node], position: int) -> list[c_ast.Node] | None:
    """Move the step at a position behind the other statements; None if they change its variable.

    They then use the value before the step.
    """
    step = step_of(items[position])
    if step is None:
        return None
    name, by = step
    others = [*items[:position], *items[position + 1 :]]
    if name in changed_names(*others) | declared_names(*others):
        return None
    coord = items[position].coord
    number = c_ast.Constant("int", str(abs(by)), coord)
    value = c_ast.BinaryOp("+" if by > 0 else "-", c_ast.ID(name, coord), number, coord)
    after = [substituted(item, {name: value}) for item in items[position + 1 :]]
    return [*items[:position], *after, items[position]]


def _steps_one_of(node: c_ast.Node, names: Sequence[str]) -> bool:
    step = step_of(node)
    return step is not None and step[0] in names


def flat(items: Sequence[c_ast.Node]) -> list[c_ast.Node]:
    """Return statements with the blocks among them that declare nothing taken apart."""
    result: list[c_ast.Node] = []
    for item in items:
        inside = items_of(item) if isinstance(item, c_ast.Compound) else [item]
        keeps = any(isinstance(part, c_ast.Decl) for part in inside)
        result += [item] if keeps or inside == [item] else flat(inside)
    return result


def items_of(node: c_ast.Node) -> list[c_ast.Node]:
    """Return the statements of a body."""
    return list(node.block_items or []) if isinstance(node, c_ast.Compound) else [node]


def _has(node: c_ast.Node, kinds: object) -> bool:
    return any(isinstance(inner, kinds) for inner in walk(node))  # type: ignore[arg-type]
