"""Count the iterations of loops that step by a size.

::

    for (i = a; i < n; i += s) f(i);        for (t = 0; t < (n - 1 - a + s) / s; t++) {
                                                const int i = a + t * s; f(i);
                                            }

C allows to assume that such a loop ends (C11, 6.8.5), and the overflow of its signed variable is
undefined, so `s` is positive if an iteration runs. This holds if nothing leaves the loop early.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pycparser import c_ast

from polysched.frontends.scop.rewrites.usage import may_change
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.quoting import Part, c_expression, counting_loop, variable
from polysched.frontends.scop.source.trees import is_zero, loop_start, mapped, names_in, walk

_LEAVING = (c_ast.Break, c_ast.Return, c_ast.Goto, c_ast.Label)


def with_counted_steps(
    items: Sequence[c_ast.Node], sizes: Collection[str], names: Names
) -> tuple[c_ast.Node, ...]:
    """Rewrite the loops of a region that step by a size.

    Args:
        sizes: the signed integers from outside the region that it does not change.
    """
    nodes = [node for item in items for node in walk(item)]
    declared = {node.name: node.type for node in nodes if isinstance(node, c_ast.Decl)}
    used = [name for item in items for name in names_in(item)]

    def rewritten(node: c_ast.Node) -> c_ast.Node:
        node = mapped(node, rewritten)
        if not isinstance(node, c_ast.For):
            return node
        start, step = loop_start(node), _step(node.next)
        if start is None or step is None or step[0] != start[0] or step[1] not in sizes:
            return node
        name, first = start
        type_ = declared.get(name)
        is_inside = isinstance(node.init, c_ast.DeclList) or used.count(name) == names_in(
            node
        ).count(name)
        changes = any(may_change(inner, name) for inner in walk(node.stmt))
        leaves = any(isinstance(inner, _LEAVING) for inner in walk(node.stmt))
        last = _last(node.cond, name)
        if not _is_signed(type_) or not is_inside or changes or leaves or last is None:
            return node
        return _counted(node, name, first, step[1], last, type_, names)

    return tuple(map(rewritten, items))


def _counted(
    node: c_ast.For,
    name: str,
    first: c_ast.Node,
    step: str,
    last: c_ast.Node,
    type_: c_ast.TypeDecl,
    names: Names,
) -> c_ast.Node:
    own = names.fresh("t")
    begins = "" if is_zero(first) else "first + "
    parts: dict[str, Part] = {"first": first, "last": last, "by": step, "t": own}
    moved = c_expression(f"{begins}t * by", node, **parts)
    value = variable(name, type_, moved, node, "const")
    distance = "last" if is_zero(first) else "last - first"
    count = c_expression(f"({distance} + by) / by", node, **parts)
    return counting_loop(own, count, c_ast.Compound([value, node.stmt], node.coord), node)


def _last(cond: c_ast.Node | None, name: str) -> c_ast.Node | None:
    """Return the largest value for which a condition holds; None for conditions of other forms."""
    match cond:
        case c_ast.BinaryOp(op="<" | "<=" as relation, left=left, right=right):
            pass
        case _:
            return None
    one = c_ast.Constant("int", "1", cond.coord)
    last = right if relation == "<=" else c_ast.BinaryOp("-", right, one, cond.coord)
    if name in names_in(right):
        return None
    match left:
        case c_ast.ID(name=own) if own == name:
            return last
        case c_ast.BinaryOp(op="+", left=c_ast.ID(name=own), right=more) if own == name:
            is_plain = name not in names_in(more)
            return c_ast.BinaryOp("-", last, more, cond.coord) if is_plain else None
    return None


def _step(node: c_ast.Node | None) -> tuple[str, str] | None:
    """Return the variable and the size in ``i += s``, ``i = i + s`` or ``i = s + i``."""
    match node:
        case c_ast.Assignment(op="+=", lvalue=c_ast.ID(name=own), rvalue=c_ast.ID(name=by)):
            return own, by
        case c_ast.Assignment(
            op="=",
            lvalue=c_ast.ID(name=own),
            rvalue=c_ast.BinaryOp(op="+", left=c_ast.ID(name=one), right=c_ast.ID(name=other)),
        ) if own in (one, other):
            return own, other if own == one else one
    return None


def _is_signed(type_: c_ast.Node | None) -> bool:
    """Whether a type is that of a signed integer of at least 32 bits."""
    words = set(getattr(getattr(type_, "type", None), "names", ()))
    return bool(words & {"int", "long", "ptrdiff_t", "int32_t", "int64_t"}) and not (
        words & {"unsigned", "short", "char"}
    )
