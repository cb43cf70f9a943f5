"""Normalize loops that count: ``while`` and ``do`` loops become ``for`` loops.

::

    i = 0; while (i < n) { ...; i++; }      ->  for (i = 0; i < n; i++) { ... }
    i = 0; do { ...; i++; } while (i < n);  ->  for (i = 0; i <= 0; i++) { ... }
                                                for (i = 0 + 1; i < n; i++) { ... }
    i = 0; for (; i < n; i++) { ... }       ->  for (i = 0; i < n; i++) { ... }

:mod:`.loop_forms` brings loops of other forms to these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pycparser import c_ast

from polysched.frontends.scop.rewrites.after_loops import AfterLoops, step_of
from polysched.frontends.scop.rewrites.loop_forms import items_of, with_known_form
from polysched.frontends.scop.rewrites.usage import (
    base_name,
    changed_by,
    changed_names,
    declared_names,
)
from polysched.frontends.scop.source.quoting import c_expression, c_statement, variable
from polysched.frontends.scop.source.trees import is_zero, names_in, walk


def with_for_loops(items: Sequence[c_ast.Node], after: AfterLoops) -> tuple[c_ast.Node, ...]:
    """Turn the loops of a block that count into ``for`` loops; other statements stay.

    The statement that sets the variable may be any earlier one of the block, if no statement
    between it and the loop uses the variable or changes what it is set to.

    Args:
        after: the variables of loops of this block that have ended; none at its start.
    """
    result: list[c_ast.Node] = []
    for position, item in enumerate(items):
        *before, formed = with_known_form(item)
        result += before
        *starts, own = after.replaced(formed)
        result += starts
        rest = items[position + 1 :]
        loops: list[c_ast.Node] | None = None
        if isinstance(own, c_ast.DoWhile):
            own = _with_step_in_body(own)
        if isinstance(own, c_ast.While | c_ast.DoWhile):
            loops = _meeting(own, result, rest) or _counted(own, result)
        elif isinstance(own, c_ast.For) and own.init is None and own.next is not None:
            loops = _started(own, result)
        result += loops or [own]
        result += after.ended(result[-1], rest)
    return tuple(result)


def with_countdowns(
    items: Sequence[c_ast.Node], parameters: Mapping[str, c_ast.Node]
) -> tuple[c_ast.Node, ...]:
    """Turn loops that count a parameter down, such as ``while (n--)``, into loops that count up.

    Only loops whose body does not use ``n`` otherwise, in a function that does not change it before
    and does not use it afterwards. A signed ``n`` below 0 would overflow, which is undefined in C,
    or end the loop at once.

    Args:
        parameters: the types of the parameters, by name.
    """
    result = []
    for position, item in enumerate(items):
        counted = _countdown(item, parameters)
        if counted is not None:
            name, body = counted
            after = (inner for other in items[position + 1 :] for inner in names_in(other))
            before = (node for other in items[:position] for node in walk(other))
            changed = {base_name(changed_by(node) or node) for node in before}
            if name not in (*after, *changed, *names_in(body)):
                result.append(_counting_up(item, name, body, parameters[name]))
                continue
        result.append(item)
    return tuple(result)


def _countdown(
    item: c_ast.Node, parameters: Mapping[str, c_ast.Node]
) -> tuple[str, c_ast.Node] | None:
    """Return the parameter that a loop counts down to 0, and the body without the step."""
    step: c_ast.Node | None = None
    match item:
        case c_ast.While(cond=cond, stmt=body):
            pass
        case c_ast.For(init=None, cond=c_ast.Node() as cond, next=step, stmt=body):
            pass
        case _:
            return None
    tested = _nonzero(cond)
    if tested is not cond or step is None or isinstance(cond, c_ast.ID):
        pass
    elif not any(isinstance(node, c_ast.Continue) for node in walk(body)):
        steps = step.exprs if isinstance(step, c_ast.ExprList) else [step]
        step, body = None, c_ast.Compound([body, *steps], body.coord or item.coord)
    match tested:
        case c_ast.UnaryOp(op="p--", expr=c_ast.ID(name=str(name))) if step is None:
            return (name, body) if name in parameters else None
        case c_ast.ID(name=str(name)) if name in parameters:
            pass
        case _:
            return None
    if step is not None:
        return (name, body) if step_of(step) == (name, -1) else None
    if not isinstance(body, c_ast.Compound) or any(
        isinstance(node, c_ast.Continue) for node in walk(body)
    ):
        return None
    kept = [inner for inner in body.block_items or [] if step_of(inner) != (name, -1)]
    if len(kept) != len(body.block_items or []) - 1:
        return None
    return name, c_ast.Compound(kept, body.coord)


def _nonzero(cond: c_ast.Node) -> c_ast.Node:
    """Return ``e`` for the conditions ``e > 0``, ``e != 0``, ``0 < e`` and ``e``."""
    if isinstance(cond, c_ast.BinaryOp):
        sides = {"right": (">", "!="), "left": ("<", "!=")}
        for side, operators in sides.items():
            if cond.op in operators and is_zero(getattr(cond, side)):
                return cond.left if side == "right" else cond.right
    return cond


def _counting_up(item: c_ast.Node, name: str, body: c_ast.Node, type_: c_ast.Node) -> c_ast.Node:
    passed = f"{name}_passed"
    start = variable(passed, type_, c_ast.Constant("int", "0", item.coord), item)
    loop = c_statement("for (; passed < n; passed++) body;", item, passed=passed, n=name, body=body)
    return c_ast.For(c_ast.DeclList([start], item.coord), loop.cond, loop.next, body, item.coord)


def _counted(
    loop: c_ast.While | c_ast.DoWhile, before: list[c_ast.Node]
) -> list[c_ast.Node] | None:
    """Return the ``for`` loops, and take the initialization out of `before`; None if it fails."""
    if loop.cond is None or any(isinstance(node, c_ast.Continue) for node in walk(loop.stmt)):
        return None
    items = items_of(loop.stmt)
    in_condition = [node for node in walk(loop.cond) if changed_by(node) is not None]
    if in_condition:
        step, body = None, list(items)
        name = base_name(changed_by(in_condition[0]) or loop)
        if isinstance(loop, c_ast.DoWhile) or len(in_condition) > 1:
            return None
    elif items and isinstance(changed_by(items[-1]), c_ast.ID):
        step, body = items[-1], list(items[:-1])
        name = base_name(changed_by(items[-1]) or loop)
    else:
        return None
    if name not in names_in(loop.cond):
        return None
    by = [] if step is None else names_in(step)
    if name in changed_names(*body) or declared_names(*body).intersection(by):
        return None
    position = _initialization(before, name)
    if position is None:
        return None
    first = _taken(before, position, name)
    start = c_expression("name = first", first, name=name, first=first)
    block = c_ast.Compound(body, loop.stmt.coord or loop.coord)
    if isinstance(loop, c_ast.While):
        return [c_ast.For(start, loop.cond, step, block, loop.coord)]
    return _peeled(loop, start, step, block)


def _with_step_in_body(loop: c_ast.DoWhile) -> c_ast.DoWhile:
    """Move a step out of the condition, as in ``do { ... } while (--i > 0)``."""
    cond = loop.cond
    tested = cond.left if isinstance(cond, c_ast.BinaryOp) else cond
    continues = any(isinstance(node, c_ast.Continue) for node in walk(loop.stmt))
    match tested:
        case c_ast.UnaryOp(op="++" | "--", expr=c_ast.ID() as own) if not continues:
            pass
        case _:
            return loop
    zero = c_ast.Constant("int", "0", cond.coord)
    relation, end = ("!=", zero) if tested is cond else (cond.op, cond.right)
    cond = c_ast.BinaryOp(relation, own, end, cond.coord)
    items = items_of(loop.stmt)
    body = c_ast.Compound([*items, tested], loop.stmt.coord or loop.coord)
    return c_ast.DoWhile(cond, body, loop.coord)


def _started(loop: c_ast.For, before: list[c_ast.Node]) -> list[c_ast.Node] | None:
    """Give a loop the start that an earlier statement sets; None if there is none."""
    step = step_of(loop.next)
    if step is None or step[0] not in names_in(loop.cond or loop):
        return None
    position = _initialization(before, step[0])
    if position is None:
        return None
    first = _taken(before, position, step[0])
    start = c_expression("name = first", first, name=step[0], first=first)
    return [c_ast.For(start, loop.cond, loop.next, loop.stmt, loop.coord)]


def _meeting(
    loop: c_ast.While | c_ast.DoWhile, before: list[c_ast.Node], rest: Sequence[c_ast.Node]
) -> list[c_ast.Node] | None:
    """Return ``while (i < j) { ...; i++; j--; }`` as a loop whose header has both variables.

    The block declares both, and no later statement uses them.
    """
    match loop:
        case c_ast.While(
            cond=c_ast.BinaryOp(left=c_ast.ID(name=left), right=c_ast.ID(name=right)),
            stmt=c_ast.Compound(block_items=[*body, first, second]),
        ):
            steps = [step_of(first), step_of(second)]
        case _:
            return None
    names = [step[0] for step in steps if step is not None]
    used = {name for item in rest for name in names_in(item)}
    leaves = any(isinstance(node, c_ast.Continue) for node in walk(loop.stmt))
    if sorted(names) != sorted([left, right]) or left == right or used & {*names} or leaves:
        return None
    places = [_initialization(before, name) for name in (left, right)]
    if None in places or not all(isinstance(before[at or 0], c_ast.Decl) for at in places):
        return None
    declared = c_ast.DeclList([before[at or 0] for at in places], loop.coord)
    for at in places:
        before[at or 0] = c_ast.EmptyStatement(loop.coord)
    ordered = [first, second] if names == [left, right] else [second, first]
    step = c_ast.ExprList(ordered, loop.coord)
    return [c_ast.For(declared, loop.cond, step, c_ast.Compound(body, loop.coord), loop.coord)]


def _peeled(
    loop: c_ast.DoWhile, start: c_ast.Assignment, step: c_ast.Node, block: c_ast.Compound
) -> list[c_ast.Node] | None:
    """Return the first iteration of a ``do`` loop, which always runs, and the others."""
    moved = step_of(step)
    if moved is None or changed_names(block) & set(names_in(start.rvalue)):
        return None
    sign, relation = ("+", "<=") if moved[1] > 0 else ("-", ">=")
    parts = {"at": start, "i": start.lvalue, "first": start.rvalue}
    once = c_expression(f"i {relation} first", **parts)
    unit = c_expression(f"i{sign}{sign}", **parts)
    following = c_expression(f"i = first {sign} {abs(moved[1])}", **parts)
    return [
        c_ast.For(start, once, unit, block, loop.coord),
        c_ast.For(following, loop.cond, step, block, loop.coord),
    ]


def _initialization(before: Sequence[c_ast.Node], name: str) -> int | None:
    """Find the statement that sets a variable, if none after it matters to its value."""
    changed: set[str] = set()
    for position in range(len(before) - 1, -1, -1):
        item = before[position]
        match item:
            case c_ast.Decl(name=own, init=c_ast.Node() as init) if own == name:
                return None if changed & set(names_in(init)) else position
            case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=own), rvalue=init) if own == name:
                return None if changed & set(names_in(init)) else position
        if name in names_in(item):
            return None
        changed |= changed_names(item) | declared_names(item)
    return None


def _taken(before: list[c_ast.Node], position: int, name: str) -> c_ast.Node:
    """Remove the initial value from the statement at a position, and return the value."""
    item = before[position]
    if isinstance(item, c_ast.Assignment):
        del before[position]
        return item.rvalue
    before[position] = c_ast.Decl(
        name, item.quals, item.align, item.storage, item.funcspec, item.type, None, None, item.coord
    )
    return item.init
