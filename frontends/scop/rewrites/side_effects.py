"""Move side effects out of expressions: increments, and assignments to variables.

::

    x[k++] = y[--m];            m--;  x[k] = y[m];  k++;
    out[count[k]++] = x[i];     long position = count[k];  count[k]++;  out[position] = x[i];
    y[i] = code[k]++;           y[i] = code[k];  code[k]++;
    if (++at >= size) at = 0;   ++at;  if (at >= size) at = 0;
    u = r / (b = d[0]);         b = d[0];  u = r / b;

C leaves open when a side effect is performed within an expression, and forbids every other use of
the same variable that is not sequenced after it, so it may stand before or after.
"""

from __future__ import annotations

from collections.abc import Iterator

from pycparser import c_ast

from polysched.frontends.scop.rewrites.usage import changed_names
from polysched.frontends.scop.source.trees import mapped, names_in, walk

_STEPS = frozenset({"p++", "++", "p--", "--"})


def with_steps_apart(node: c_ast.Node) -> list[c_ast.Node]:
    """Rewrite a statement whose expressions have side effects to several statements."""
    match node:
        case c_ast.Compound(block_items=[*items]):
            changed = [inner for item in items for inner in with_steps_apart(item)]
            return [node if changed == items else c_ast.Compound(changed, node.coord)]
        case c_ast.If(cond=cond):
            before, holds = _hoisted(cond)
            sides = [side and _block(side) for side in (node.iftrue, node.iffalse)]
            return [*before, c_ast.If(holds, *sides, node.coord)]
        case c_ast.For():
            return [c_ast.For(node.init, node.cond, node.next, _block(node.stmt), node.coord)]
        case c_ast.While() | c_ast.DoWhile():
            return [type(node)(node.cond, _block(node.stmt), node.coord)]
        case (
            c_ast.Decl(type=c_ast.TypeDecl(), init=c_ast.Node() as init)
            | c_ast.Return(expr=c_ast.Node() as init)
        ):
            before, value = _hoisted(init)
            changed = mapped(node, lambda child: value if child is init else child)
            return [*before, *(_split(changed) if isinstance(node, c_ast.Decl) else [changed])]
        case c_ast.Assignment(rvalue=value):
            # The value of `a = b = c` is a statement of its own where it is translated.
            inner = value if isinstance(value, c_ast.Assignment) else None
            before, hoisted = _hoisted(node if inner is None else inner, is_statement=True)
            if inner is not None:
                hoisted = c_ast.Assignment(node.op, node.lvalue, hoisted, node.coord)
            split = _split(hoisted)
            whole = split[0] if len(split) == 1 else c_ast.Compound(split, node.coord)
            return [*before, whole]
    return [node]


def _block(node: c_ast.Node) -> c_ast.Node:
    """Rewrite a statement to one statement."""
    changed = with_steps_apart(node)
    return changed[0] if len(changed) == 1 else c_ast.Compound(changed, node.coord)


def _hoisted(
    node: c_ast.Node, *, is_statement: bool = False
) -> tuple[list[c_ast.Node], c_ast.Node]:
    """Return the side effects on variables that stand before an expression, and the expression.

    Increments that are whole subscripts stay in statements, because others may stand after them.
    """
    before: list[c_ast.Node] = []

    def replaced(inner: c_ast.Node) -> c_ast.Node:
        match inner:
            case c_ast.TernaryOp(cond=first) | c_ast.BinaryOp(op="&&" | "||", left=first):
                return mapped(inner, lambda child: replaced(child) if child is first else child)
            case c_ast.FuncCall(args=c_ast.ExprList() as args):
                arguments = mapped(args, replaced)
                return mapped(inner, lambda child: arguments if child is args else child)
            case c_ast.ArrayRef(subscript=c_ast.UnaryOp(op="++" | "--")) if is_statement:
                return inner
            case c_ast.ExprList() | c_ast.InitList() | c_ast.UnaryOp(op="sizeof"):
                return inner  # commas separate side effects in time
            case c_ast.UnaryOp(op="++" | "--", expr=c_ast.ID() as own):
                before.append(inner)
                return own
            case c_ast.Assignment(lvalue=c_ast.ID() as own) if inner is not node:
                value = c_ast.Assignment(inner.op, own, replaced(inner.rvalue), inner.coord)
                before.append(value)
                return own
        return mapped(inner, replaced)

    value = mapped(node, replaced) if is_statement else replaced(node)
    return before, value


def _split(node: c_ast.Assignment | c_ast.Decl) -> list[c_ast.Node]:
    """Write the increments in a statement as statements of their own around it."""
    moves = list(_moves(node))
    steps = [n for n in walk(node) if isinstance(n, c_ast.UnaryOp) and n.op in _STEPS]
    if not moves or len(steps) != len(moves):
        return [node]  # an increment of another form, or one that may not be evaluated
    subscripts = [n.subscript for n in walk(node) if isinstance(n, c_ast.ArrayRef)]
    targets = changed_names(node) | {getattr(node, "name", "")}
    before: list[c_ast.Node] = []
    after: list[c_ast.Node] = []
    values: dict[int, c_ast.Node] = {}
    for move in moves:
        values[id(move)] = move.expr
        is_late = move.op.startswith("p")
        if isinstance(move.expr, c_ast.ID) or move not in subscripts:
            # Nothing but the statement itself may change the element between the two.
            if move not in subscripts and set(names_in(move.expr)[1:]) & targets:
                return [node]
            (after if is_late else before).append(move)
            continue
        name = _fresh(node, len(before))
        type_ = c_ast.TypeDecl(name, [], None, c_ast.IdentifierType(["long"]), move.coord)
        held = c_ast.Decl(name, [], [], [], [], type_, move.expr, None, move.coord)
        before += [held, move] if is_late else [move, held]
        values[id(move)] = c_ast.ID(name, move.coord)

    def replaced(inner: c_ast.Node) -> c_ast.Node:
        return values.get(id(inner)) or mapped(inner, replaced)

    return [*before, replaced(node), *after]


def _moves(node: c_ast.Node) -> Iterator[c_ast.UnaryOp]:
    """Yield the increments of whole subscripts and of plain elements that are always evaluated."""
    match node:
        case c_ast.TernaryOp(cond=first) | c_ast.BinaryOp(op="&&" | "||", left=first):
            yield from _moves(first)
            return
        case c_ast.ExprList() | c_ast.InitList() | c_ast.UnaryOp(op="sizeof"):
            return  # commas separate side effects in time
        case c_ast.UnaryOp(op=operator, expr=own) if operator in _STEPS and _is_plain(own):
            yield node
            return
        case c_ast.ArrayRef(subscript=c_ast.UnaryOp(op=operator) as move) if operator in _STEPS:
            yield from _moves(node.name)
            yield move
            return
    for _, child in node.children():
        yield from _moves(child)


def _is_plain(node: c_ast.Node) -> bool:
    """Whether an element is a name with subscripts that read no other element."""
    match node:
        case c_ast.ArrayRef(name=array, subscript=subscript):
            inside = walk(subscript)
            kinds = c_ast.ArrayRef | c_ast.StructRef | c_ast.FuncCall | c_ast.UnaryOp
            return _is_plain(array) and not any(isinstance(part, kinds) for part in inside)
        case c_ast.UnaryOp(op="*", expr=c_ast.ID()):
            return True
    return isinstance(node, c_ast.ID)


def _fresh(node: c_ast.Node, number: int) -> str:
    name = f"position{number or ''}"
    while name in names_in(node):
        name += "_"
    return name
