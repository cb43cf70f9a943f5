"""Values of loop variables after their loops, and loops that go on from there.

::

    for (i = 0; i + 3 < n; i += 4) f(i);    for (i = 0; i + 3 < n; i += 4) f(i);
    for (; i < n; i++) g(i);                const int i_after = 0 < n - 3 ? ... : 0;
    return i;                               for (i = i_after; i < n; i++) g(i);
                                            const int i_after_2 = i_after < n ? n : i_after;
                                            return i_after_2;

The value of an unsigned variable is written with signed 64-bit operands, because ``n - 3`` may wrap
around where ``i + 3`` does not. Only affine bounds are taken: their arithmetic is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pycparser import c_ast

from polysched.frontends.scop.rewrites.usage import changed_names, changes
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.quoting import c_expression, variable
from polysched.frontends.scop.source.trees import (
    LOOPS,
    StandIn,
    cast_to,
    loop_start,
    mapped,
    names_in,
    walk,
    with_stand_ins,
)

_SIGNED = frozenset({"int", "long", "signed", "ptrdiff_t", "ssize_t", "int32_t", "int64_t"})
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


@dataclass
class AfterLoops:
    """Loop variables of one block that have ended, with the constants that hold their values.

    Attributes:
        types: the types of the local integers, by name.
    """

    types: Mapping[str, c_ast.Node]
    names: Names
    _known: dict[str, str] = field(default_factory=dict)

    def replaced(self, item: c_ast.Node) -> list[c_ast.Node]:
        """Replace the variables that have ended in the next statement.

        Returns:
            The statement, after the assignment that sets the variable of a loop without a start.
        """
        before: list[c_ast.Node] = []
        for name, after in list(self._known.items()):
            if name not in names_in(item):
                continue
            changing = [inner for inner in walk(item) if changes(inner, name)]
            if not changing and not _declares(item, name):
                item = with_stand_ins(item, {name: after})
                continue
            del self._known[name]
            value = StandIn(after, c_ast.ID(name, item.coord))
            if isinstance(item, LOOPS) and getattr(item, "init", None) is None:
                before.append(c_expression("name = value", item, name=name, value=value))
            elif len(changing) == 1 and not _declares(item, name):
                item = _with_start(item, name, value)
        return [*before, item]

    def ended(self, loop: c_ast.Node, rest: Sequence[c_ast.Node]) -> list[c_ast.Node]:
        """Return the declaration of the value after a loop, if a later statement needs it."""
        found = value_after(loop, self.types) if isinstance(loop, c_ast.For) else None
        if found is None:
            return []
        name, value = found
        if not any(name in names_in(item) for item in rest):
            return []
        type_ = self.types[name]
        after = self._known[name] = self.names.fresh(f"{name}_after")
        return [variable(after, type_, value, loop, "const")]


def integers_of(items: Sequence[c_ast.Node]) -> dict[str, c_ast.Node]:
    """Return the types of the variables that statements declare once and that are no pointers."""
    declared = [node for item in items for node in walk(item) if isinstance(node, c_ast.Decl)]
    names = [node.name for node in declared]
    return {
        node.name: node.type
        for node in declared
        if isinstance(node.type, c_ast.TypeDecl) and names.count(node.name) == 1
    }


def value_after(loop: c_ast.For, types: Mapping[str, c_ast.Node]) -> tuple[str, c_ast.Node] | None:
    """Return the variable of a loop that counts, and its value after the loop.

    None for a loop that may be left early, or whose bounds its body changes.

    Args:
        types: the types of the local integers, by name.
    """
    started = loop_start(loop)
    step = None if loop.next is None else step_of(loop.next)
    if isinstance(loop.init, c_ast.DeclList) or started is None or step is None:
        return None
    name, first = started
    if step[0] != name or name not in types or _is_left(loop.stmt):
        return None
    operands = _Operands(types[name].type)
    end = _end(loop.cond, name, step[1], operands)
    if end is None:
        return None
    bounds = [*walk(first), *walk(end)]
    changed = changed_names(loop.stmt, first, end)
    if not all(map(_may_be_affine, bounds)) or changed & {name, *names_in(first), *names_in(end)}:
        return None
    return name, _value(operands.exact(first), end, step[1], loop)


def value_at_end(loop: c_ast.For, name: str) -> c_ast.Node | None:
    """Return the value of a loop's variable after a loop that runs to its end; None if unknown.

    The operands are signed 64-bit integers.
    """
    started, step = loop_start(loop), None if loop.next is None else step_of(loop.next)
    if started is None or step is None or step[0] != name:
        return None
    operands = _Operands(c_ast.IdentifierType(["long"]))
    end = _end(loop.cond, name, step[1], operands)
    return None if end is None else _value(operands.exact(started[1]), end, step[1], loop)


def step_of(node: c_ast.Node) -> tuple[str, int] | None:
    """Return the variable and the distance of a step such as ``i++`` or ``i += 4``."""
    match node:
        case c_ast.UnaryOp(op="p++" | "++", expr=c_ast.ID(name=str(name))):
            return name, 1
        case c_ast.UnaryOp(op="p--" | "--", expr=c_ast.ID(name=str(name))):
            return name, -1
        case c_ast.Assignment(
            op="+=" | "-=" as operator,
            lvalue=c_ast.ID(name=str(name)),
            rvalue=c_ast.Constant(type="int", value=text),
        ) if text.isdigit() and int(text):
            return name, int(text) if operator == "+=" else -int(text)
    return None


def _may_be_affine(node: c_ast.Node) -> bool:
    """Whether an operation of a bound is one of affine expressions."""
    match node:
        case c_ast.BinaryOp(op="*", left=left, right=right):
            return not (names_in(left) and names_in(right))
        case c_ast.BinaryOp(op=operator):
            return operator in ("+", "-", "<", ">") or not names_in(node.right)
        case c_ast.FuncCall() | c_ast.ArrayRef() | c_ast.StructRef():
            return False
    return not (isinstance(node, c_ast.UnaryOp) and node.op == "*")


def exclusive_end(
    cond: c_ast.Node | None, name: str, step: int, type_: c_ast.Node
) -> c_ast.Node | None:
    """Return the exclusive end of a variable, with operands of a type; None if unknown."""
    return _end(cond, name, step, _Operands(type_))


def _end(cond: c_ast.Node | None, name: str, step: int, operands: _Operands) -> c_ast.Node | None:
    """Return the exclusive end of a variable; None for other conditions."""
    if isinstance(cond, c_ast.BinaryOp) and cond.op == "&&":
        ends = [_end(side, name, step, operands) for side in (cond.left, cond.right)]
        if None in ends:
            return None
        relation = "<" if step > 0 else ">"
        return c_expression(f"a {relation} b ? a : b", cond, a=ends[0], b=ends[1])
    if not isinstance(cond, c_ast.BinaryOp) or cond.op not in _MIRRORED:
        return None
    own, other, relation = cond.left, cond.right, cond.op
    if name not in names_in(own):
        own, other, relation = cond.right, cond.left, _MIRRORED[relation]
    if name in names_in(other) or (relation in ("<", "<=")) != (step > 0):
        return None
    end = operands.exact(other)
    while isinstance(own, c_ast.BinaryOp) and own.op in "+-":
        if name in names_in(own.left):
            own, term, sign = own.left, own.right, "-" if own.op == "+" else "+"
        elif own.op == "+":
            own, term, sign = own.right, own.left, "-"
        else:
            return None
        if name in names_in(term):
            return None
        end = c_ast.BinaryOp(sign, end, operands.exact(term), cond.coord)
    if not isinstance(own, c_ast.ID):
        return None
    if relation in ("<=", ">="):
        end = c_expression(f"end {'+' if step > 0 else '-'} 1", cond, end=end)
    return end


def _value(first: c_ast.Node, end: c_ast.Node, step: int, loop: c_ast.For) -> c_ast.Node:
    """Return ``first`` if the range is empty, else the first value that is not before the end."""
    sign, runs, length = ("+", "first < end", "end - first")
    if step < 0:
        sign, runs, length = ("-", "first > end", "first - end")
    by = abs(step)
    last = "end" if by == 1 else f"first {sign} ({length} + {by - 1}) / {by} * {by}"
    return c_expression(f"{runs} ? {last} : first", loop, first=first, end=end)


@dataclass(frozen=True)
class _Operands:
    """Operands of the value of a variable of type `type_`, such that no operation wraps around."""

    type_: c_ast.Node

    def exact(self, node: c_ast.Node) -> c_ast.Node:
        """Return an expression whose names have a signed type; its sums and products follow."""
        if isinstance(node, c_ast.BinaryOp) and node.op in "+-*":
            left, right = self.exact(node.left), self.exact(node.right)
            return c_ast.BinaryOp(node.op, left, right, node.coord)
        if isinstance(node, c_ast.Constant) and node.value.isdigit():
            return node
        is_signed = set(getattr(self.type_, "names", ())) <= _SIGNED
        type_ = self.type_ if is_signed else c_ast.IdentifierType(["long"])
        return cast_to(c_ast.TypeDecl(None, [], None, type_), node)


def _is_left(body: c_ast.Node) -> bool:
    """Whether a loop body may leave its loop other than by returning."""
    match body:
        case c_ast.Break() | c_ast.Goto():
            return True
        case c_ast.For() | c_ast.While() | c_ast.DoWhile() | c_ast.Switch():
            return any(isinstance(inner, c_ast.Goto) for inner in walk(body))
    return any(_is_left(child) for _, child in body.children())


def _declares(item: c_ast.Node, name: str) -> bool:
    return any(isinstance(node, c_ast.Decl) and node.name == name for node in walk(item))


def _with_start(item: c_ast.Node, name: str, value: c_ast.Node) -> c_ast.Node:
    """Set the variable of the loop without a start that an ``if`` or a block contains."""

    def started(node: c_ast.Node) -> c_ast.Node:
        match node:
            case c_ast.For(init=None, next=c_ast.Node() as step) if changes(step, name):
                start = c_expression("name = value", node, name=name, value=value)
                return c_ast.For(start, node.cond, step, node.stmt, node.coord)
            case c_ast.For() | c_ast.While() | c_ast.DoWhile():
                return node
        return mapped(node, started)

    return started(item)
