"""Normalize the headers of ``for`` loops: one variable, and conditions without elements of arrays.

::

    for (i = 0, j = n - 1; i < n; j = i++) f(i, j);
        ->  for (i = 0; i < n; i++) if (i == 0) { int j = n - 1; f(i, j); }
                                    else { int j = i - 1; f(i, j); }

    for (i = 0, k = m; i < n; i++, k -= 2) f(i, k);
        ->  for (i = 0; i < n; i++) f(i, m + (i - 0) * -2);

    for (i = 0; i < n && x[i] < key; i++) f(i);      ``key``: also a variable that f changes
        ->  for (i = 0; i < n; i++) { if (!(x[i] < key)) break; f(i); }

The other variables of a header must be declared in it, because their last values are lost.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import reduce

from pycparser import c_ast

from polysched.frontends.scop.rewrites.after_loops import step_of
from polysched.frontends.scop.rewrites.usage import (
    base_name,
    changed_by,
    changed_names,
    changes,
    declared_names,
)
from polysched.frontends.scop.source.quoting import c_expression, c_statement, variable
from polysched.frontends.scop.source.trees import is_zero, names_in, substituted, walk


def with_plain_header(node: c_ast.For, counters: Collection[str] = ()) -> c_ast.For:
    """Normalize the header of a loop; the loop itself if its header has another form.

    Args:
        counters: the variables of type int that only loops use whose headers set them.
    """
    match node.init:
        case c_ast.ExprList(exprs=[first, *others]) if all(
            isinstance(assignment, c_ast.Assignment)
            and assignment.op == "="
            and isinstance(assignment.lvalue, c_ast.ID)
            and assignment.lvalue.name in counters
            for assignment in (first, *others)
        ):
            declared = [
                c_statement(
                    "int name = value;",
                    assignment,
                    name=assignment.lvalue.name,
                    value=assignment.rvalue,
                )
                for assignment in (first, *others)
            ]
            init = c_ast.DeclList(declared, node.coord)
            node = c_ast.For(init, node.cond, node.next, node.stmt, node.coord)
    return _without_data(_without_followers(_with_one_variable(node)))


def counters_of(items: Sequence[c_ast.Node]) -> frozenset[str]:
    """Return the local variables of type int that only the loops use whose headers set them."""
    declared = {
        node.name
        for item in items
        for node in walk(item)
        if isinstance(node, c_ast.Decl)
        and isinstance(node.type, c_ast.TypeDecl)
        and getattr(node.type.type, "names", ()) == ["int"]
        and node.init is None
    }
    inside = [name for loop in _setting(items, frozenset()) for name in loop]
    used = [name for item in items for name in names_in(item)]
    return frozenset(name for name in declared if used.count(name) == inside.count(name))


def _setting(items: Sequence[c_ast.Node], known: frozenset[str]) -> Iterator[list[str]]:
    """Yield the uses of each variable in the outermost loops whose headers set it."""
    for item in items:
        names: set[str] = set()
        if isinstance(item, c_ast.For) and isinstance(item.init, c_ast.Assignment | c_ast.ExprList):
            parts = item.init.exprs if isinstance(item.init, c_ast.ExprList) else [item.init]
            names = {base_name(changed_by(part) or item) for part in parts} - known - {""}
            yield [name for name in names_in(item) if name in names]
        yield from _setting([child for _, child in item.children()], known | names)


def _without_data(node: c_ast.For) -> c_ast.For:
    """Move the operands of the condition that depend on data into the body, as a ``break``.

    They read arrays, or variables that the body changes.
    """
    operands = _operands(node.cond)
    changed = changed_names(node.stmt)
    moved = [
        operand
        for operand in operands
        if _reads_elements(operand) or changed & set(names_in(operand))
    ]
    kept = [operand for operand in operands if operand not in moved]
    if not moved or not kept:
        return node
    if any(changed_by(inner) is not None for operand in moved for inner in walk(operand)):
        return node
    leave = c_statement("if (!goes_on) break;", moved[0], goes_on=_conjunction(moved))
    body = c_ast.Compound([leave, node.stmt], node.stmt.coord)
    return c_ast.For(node.init, _conjunction(kept), node.next, body, node.coord)


def _operands(node: c_ast.Node | None) -> list[c_ast.Node]:
    if isinstance(node, c_ast.BinaryOp) and node.op == "&&":
        return [*_operands(node.left), *_operands(node.right)]
    return [] if node is None else [node]


def _conjunction(operands: Sequence[c_ast.Node]) -> c_ast.Node:
    return reduce(
        lambda condition, other: c_ast.BinaryOp("&&", condition, other, condition.coord), operands
    )


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
    changed = changed_names(node.stmt) | declared_names(node.stmt)
    names = {declaration.name for declaration in node.init.decls}
    steps = dict(step for step in map(step_of, node.next.exprs) if step is not None)
    is_counted = steps.keys() == names and abs(steps[first.name]) == 1
    if not is_counted or len(node.next.exprs) != len(names) or changed & names:
        return node
    values: dict[str, c_ast.Node] = {}
    for counter in others:
        used = (
            {*names_in(counter.init), *names_in(first.init)}
            if counter.init and first.init
            else names
        )
        is_number = isinstance(counter.type, c_ast.TypeDecl) and _is_signed(counter.type.type)
        if not is_number or used & (names | changed):
            return node
        factor = steps[counter.name] * steps[first.name]
        times = "" if abs(factor) == 1 else f" * {abs(factor)}"
        values[counter.name] = c_expression(
            f"start {'+' if factor > 0 else '-'} (index - first){times}",
            counter, start=counter.init, index=first.name, first=first.init,
        )  # fmt: skip
    init = c_ast.DeclList([first], node.init.coord)
    body = substituted(node.stmt, values)
    distances = [steps[declaration.name] for declaration in (first, *others)]
    met = _met(node.cond, first, others[0]) if distances == [1, -1] else None
    cond = met or substituted(node.cond, values)
    (step,) = [expression for expression in node.next.exprs if changes(expression, first.name)]
    return c_ast.For(init, cond, step, body, node.coord)


def _met(cond: c_ast.Node, up: c_ast.Decl, down: c_ast.Decl) -> c_ast.Node | None:
    """Return the bound of ``i`` in ``i < j``, where ``j`` counts down while ``i`` counts up.

    With ``i = first + t`` and ``j = last - t``, ``i < j`` is ``2 * t < last - first``. The
    divisions truncate, and no iteration runs where ``last - first`` is negative.
    """
    match cond:
        case c_ast.BinaryOp(
            op="<" | "<=" as relation, left=c_ast.ID(name=left), right=c_ast.ID(name=right)
        ) if left == up.name and right == down.name:
            pass
        case _:
            return None
    length = _plus(down.init, 1 if relation == "<" else 2)
    index = {"at": cond, "index": cond.left, "length": length}
    if is_zero(up.init):
        return c_expression("index < length / 2", **index)
    return c_expression("index < first + (length - first) / 2", **index, first=up.init)


def _plus(node: c_ast.Node, number: int) -> c_ast.Node:
    """Add a number to an expression that may subtract one."""
    match node:
        case c_ast.BinaryOp(op="-", left=left, right=c_ast.Constant(value=text)) if text.isdigit():
            node, number = left, number - int(text)
    if not number:
        return node
    sign = "+" if number > 0 else "-"
    return c_expression(f"node {sign} {abs(number)}", node, node=node)


def _is_signed(type_: c_ast.Node) -> bool:
    names = set(getattr(type_, "names", ()))
    return bool(names) and names <= {"int", "long", "signed", "size_t"}


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
    changed = changed_names(node.stmt)
    if changed & {name, follower, *names_in(first), *names_in(before)} or name in names_in(before):
        return node
    if follower in names_in(node.cond) or not isinstance(declared.type, c_ast.TypeDecl):
        return node
    first_own, later_own = (
        variable(follower, declared.type, value, declared, "const")
        for value in (before, c_expression("index - 1", declared, index=name))
    )
    body = c_statement(
        "if (index == first) { first_own; body; } else { later_own; body; }",
        declared, index=name, first=first, first_own=first_own, later_own=later_own, body=node.stmt,
    )  # fmt: skip
    init = c_ast.DeclList(node.init.decls[:1], node.init.coord)
    return c_ast.For(init, node.cond, step, body, node.coord)
