"""Normalize the headers of ``for`` loops: one variable, and conditions without elements of arrays.

::

    for (i = 0, j = n - 1; i < n; j = i++) f(i, j);
        ->  for (i = 0; i < n; i++) if (i == 0) { int j = n - 1; f(i, j); }
                                    else { int j = i - 1; f(i, j); }

    for (i = 0, k = m; i < n; i++, k -= 2) f(i, k);
        ->  for (i = 0; i < n; i++) f(i, m + (i - 0) * -2);

    for (i = 0; i < n && x[i] < key; i++) f(i);
        ->  for (i = 0; i < n; i++) { if (!(x[i] < key)) break; f(i); }

The other variables of a header must be declared in it, because their last values are lost.
"""

from __future__ import annotations

from collections.abc import Sequence

from pycparser import c_ast

from polysched.frontends.scop.counting import names_in, replaced_name, walk
from polysched.frontends.scop.trees import substituted
from polysched.frontends.scop.usage import base_name, changed_by

_STEPS = {"p++": 1, "++": 1, "p--": -1, "--": -1}


def with_plain_header(node: c_ast.For) -> c_ast.For:
    """Normalize the header of a loop; the loop itself if its header has another form."""
    return _without_data(_without_followers(_with_one_variable(node)))


def _without_data(node: c_ast.For) -> c_ast.For:
    """Move the operands of the condition that read arrays into the body, as a ``break``."""
    operands = _operands(node.cond)
    kept = [one for one in operands if not _reads_elements(one)]
    if len(kept) == len(operands) or not kept or operands[: len(kept)] != kept:
        return node
    moved = operands[len(kept) :]
    if any(changed_by(inner) is not None for one in moved for inner in walk(one)):
        return node
    stops = c_ast.UnaryOp("!", _conjunction(moved), moved[0].coord)
    leave = c_ast.If(stops, c_ast.Break(moved[0].coord), None, moved[0].coord)
    body = c_ast.Compound([leave, node.stmt], node.stmt.coord)
    return c_ast.For(node.init, _conjunction(kept), node.next, body, node.coord)


def _operands(node: c_ast.Node | None) -> list[c_ast.Node]:
    if isinstance(node, c_ast.BinaryOp) and node.op == "&&":
        return [*_operands(node.left), *_operands(node.right)]
    return [] if node is None else [node]


def _conjunction(operands: Sequence[c_ast.Node]) -> c_ast.Node:
    first, *others = operands
    for one in others:
        first = c_ast.BinaryOp("&&", first, one, first.coord)
    return first


def _reads_elements(node: c_ast.Node) -> bool:
    return any(
        isinstance(inner, c_ast.ArrayRef) or (isinstance(inner, c_ast.UnaryOp) and inner.op == "*")
        for inner in walk(node)
    )


def _with_one_variable(node: c_ast.For) -> c_ast.For:
    """Replace the variables beside the first that step by a constant in each iteration."""
    if not (isinstance(node.init, c_ast.DeclList) and isinstance(node.next, c_ast.ExprList)):
        return node
    first, *others = node.init.decls
    changed = {base_name(changed_by(inner) or node) for inner in walk(node.stmt)}
    declared = {inner.name for inner in walk(node.stmt) if isinstance(inner, c_ast.Decl)}
    names = {one.name for one in node.init.decls}
    steps = {base_name(changed_by(step) or node): step for step in node.next.exprs}
    is_counted = steps.keys() == names and _distance(steps[first.name]) in ("1", "-1")
    if not is_counted or len(node.next.exprs) != len(names) or (changed | declared) & names:
        return node
    values: dict[str, c_ast.Node] = {}
    for one in others:
        by = _distance(steps[one.name])
        used = {*names_in(one.init), *names_in(first.init)} if one.init and first.init else names
        is_number = isinstance(one.type, c_ast.TypeDecl)
        if by is None or not is_number or used & (names | changed | declared):
            return node
        passed = c_ast.BinaryOp("-", c_ast.ID(first.name, one.coord), first.init, one.coord)
        factor = int(by) * int(_distance(steps[first.name]) or 1)
        number = c_ast.Constant("int", str(abs(factor)), one.coord)
        moved = passed if factor in (1, -1) else c_ast.BinaryOp("*", passed, number, one.coord)
        sign = "+" if factor > 0 else "-"
        values[one.name] = c_ast.BinaryOp(sign, one.init, moved, one.coord)
    init = c_ast.DeclList([first], node.init.coord)
    cond, body = (
        None if part is None else substituted(part, values) for part in (node.cond, node.stmt)
    )
    return c_ast.For(init, cond, steps[first.name], body, node.coord)


def _distance(step: c_ast.Node) -> str | None:
    """Return the literal by which a step moves its variable."""
    match step:
        case c_ast.UnaryOp(op=operator) if operator in _STEPS:
            return str(_STEPS[operator])
        case c_ast.Assignment(op="+=", rvalue=c_ast.Constant(type="int", value=text)):
            return str(text) if text.isdigit() else None
        case c_ast.Assignment(op="-=", rvalue=c_ast.Constant(type="int", value=text)):
            return f"-{text}" if text.isdigit() else None
    return None


def _without_followers(node: c_ast.For) -> c_ast.For:
    """Replace a variable that follows the loop variable, as ``j`` in ``j = i++``."""
    match node:
        case c_ast.For(
            init=c_ast.DeclList(
                decls=[
                    c_ast.Decl(name=name, init=c_ast.Node() as first),
                    c_ast.Decl(name=follower, init=c_ast.Node() as before) as declared,
                ]
            ),
            next=c_ast.Assignment(
                op="=",
                lvalue=c_ast.ID(name=set_),
                rvalue=c_ast.UnaryOp(op="p++", expr=c_ast.ID(name=stepped)) as step,
            ),
        ) if name == stepped and follower == set_:
            pass
        case _:
            return node
    changed = {base_name(changed_by(inner) or node) for inner in walk(node.stmt)}
    if changed & {name, follower, *names_in(first), *names_in(before)} or name in names_in(before):
        return node
    if follower in names_in(node.cond) or not isinstance(declared.type, c_ast.TypeDecl):
        return node
    one = c_ast.Constant("int", "1", declared.coord)
    index = c_ast.ID(name, declared.coord)

    def bound(value: c_ast.Node) -> c_ast.Compound:
        type_ = replaced_name(declared.type, follower)
        own = c_ast.Decl(follower, ["const"], [], [], [], type_, value, None, declared.coord)
        return c_ast.Compound([own, node.stmt], node.stmt.coord)

    body = c_ast.If(
        c_ast.BinaryOp("==", index, first, declared.coord),
        bound(before),
        bound(c_ast.BinaryOp("-", index, one, declared.coord)),
        declared.coord,
    )
    init = c_ast.DeclList(node.init.decls[:1], node.init.coord)
    return c_ast.For(init, node.cond, step, body, node.coord)
