"""Rewrite pointers that walk through an array, as in ``*p++``, to subscripts of the loop variables.

::

    for (y = 0; y < h; y++)              for (y = 0; y < h; y++)
      for (x = 0; x < w; x++)              for (x = 0; x < w; x++)
        *d++ = *s++;                         d[y*w + x] = s[y*w + x];

The number of elements that a loop passes is the length of its range, which holds unless the range
is shorter than empty. The element is therefore only used inside the loop that passes it. A pointer
whose moves are not understood is left alone and refused where it is translated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from pycparser import c_ast

from polysched.frontends.scop.rewrites.usage import base_name, changed_by
from polysched.frontends.scop.source.trees import (
    Distance,
    cast_to,
    loop_start,
    mapped,
    names_in,
    walk,
)

_MOVES = {"p++": "+", "++": "+", "p--": "-", "--": "-", "+=": "+", "-=": "-"}
_ZERO = c_ast.Constant("int", "0")
_LEAVING = c_ast.Continue | c_ast.Break | c_ast.Return | c_ast.Goto


def without_walks(items: Sequence[c_ast.Node], pointers: Collection[str]) -> tuple[c_ast.Node, ...]:
    """Rewrite the pointers of a function body that walk.

    Args:
        items: the statements.
        pointers: the parameters that are pointers.
    """
    result = tuple(items)
    local = local_pointers(items)
    for name in dict.fromkeys([*pointers, *local]):
        moved = any(_moves(node, name) for item in result for node in walk(item))
        if moved and local.count(name) + (name in pointers) == 1:
            try:
                result, _ = _Walk(name).items(result, _Offset(_ZERO), ())
            except _NotUnderstoodError:
                continue
    return result


def local_pointers(items: Sequence[c_ast.Node]) -> list[str]:
    """Return the pointers that statements declare, once for each declaration."""
    return [
        node.name
        for item in items
        for node in walk(item)
        if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.PtrDecl)
    ]


def moves_in(items: Sequence[c_ast.Node], pointers: Collection[str]) -> list[c_ast.Node]:
    """Return the nodes that move a pointer."""
    return [
        node
        for item in items
        for node in walk(item)
        if isinstance(changed_by(node), c_ast.ID)
        and base_name(changed_by(node) or node) in pointers
    ]


class _NotUnderstoodError(Exception):
    """The pointer moves in a way that has no subscript."""


def _moves(node: c_ast.Node, name: str) -> bool:
    target = changed_by(node)
    return isinstance(target, c_ast.ID) and target.name == name


@dataclass(frozen=True)
class _Offset:
    """Distance from the start of the walk, valid inside certain loops only.

    Attributes:
        value: the distance.
        inside: the loops.
        anywhere: the distance that is valid anywhere; None for `value`.
    """

    value: c_ast.Node
    inside: frozenset[int] = frozenset()
    anywhere: c_ast.Node | None = None

    @property
    def exact(self) -> c_ast.Node:
        """The distance, with 0 in place of negative numbers of iterations; valid anywhere."""
        return self.value if self.anywhere is None else self.anywhere

    def plus(
        self,
        other: c_ast.Node,
        inside: frozenset[int] = frozenset(),
        exact: c_ast.Node | None = None,
    ) -> _Offset:
        if _is_zero(other):
            return self
        value, anywhere = (
            more if _is_zero(before) else _combined("+", before, more)
            for before, more in ((self.value, other), (self.exact, exact or other))
        )
        is_same = self.anywhere is None and exact is None
        return _Offset(value, self.inside | inside, None if is_same else anywhere)


@dataclass(frozen=True)
class _Walk:
    """Rewriting of one pointer."""

    name: str

    def items(
        self, items: Sequence[c_ast.Node], offset: _Offset, loops: tuple[int, ...]
    ) -> tuple[tuple[c_ast.Node, ...], _Offset]:
        """Rewrite statements in order; return them and the offset after them."""
        result: list[c_ast.Node] = []
        for item in items:
            changed, offset = self.statement(item, offset, loops)
            if changed is not None:
                result.append(changed)
        return tuple(result), offset

    def statement(
        self, node: c_ast.Node, offset: _Offset, loops: tuple[int, ...]
    ) -> tuple[c_ast.Node | None, _Offset]:
        if isinstance(node, c_ast.Decl) and node.name == self.name:
            return node, _Offset(_ZERO)
        if self.name not in names_in(node):
            return node, offset
        if not any(_moves(inner, self.name) for inner in walk(node)):
            return self.read(node, offset, loops), offset
        if _moves(node, self.name):
            return None, offset.plus(self.distance(node))
        match node:
            case c_ast.Compound(block_items=items):
                changed, after = self.items(items or (), offset, loops)
                return c_ast.Compound(list(changed), node.coord), after
            case c_ast.For():
                return self.loop(node, offset, loops)
            case c_ast.Assignment() | c_ast.UnaryOp() | c_ast.Decl():
                return self.moving(node, offset, loops)
        raise _NotUnderstoodError

    def distance(self, move: c_ast.Node) -> c_ast.Node:
        """Return the number of elements by which a statement moves the pointer."""
        operator = _MOVES.get(move.op)
        if operator is None:
            raise _NotUnderstoodError
        by = (
            move.rvalue
            if isinstance(move, c_ast.Assignment)
            else c_ast.Constant("int", "1", move.coord)
        )
        if self.name in names_in(by):
            raise _NotUnderstoodError
        return by if operator == "+" else c_ast.UnaryOp("-", by, by.coord)

    def moving(
        self, node: c_ast.Node, offset: _Offset, loops: tuple[int, ...]
    ) -> tuple[c_ast.Node, _Offset]:
        """Rewrite a statement with one ``*p++`` in it, which is always evaluated."""
        moves = [inner for inner in _evaluated(node) if _moves(inner, self.name)]
        if len(moves) != 1 or names_in(node).count(self.name) != 1:
            raise _NotUnderstoodError
        (move,) = moves
        if not isinstance(move, c_ast.UnaryOp):
            raise _NotUnderstoodError
        after = offset.plus(self.distance(move))
        used = offset if move.op.startswith("p") else after
        pointer = move.expr

        def replaced(inner: c_ast.Node) -> c_ast.Node:
            return pointer if inner is move else mapped(inner, replaced)

        return self.read(replaced(node), used, loops), after

    def read(self, node: c_ast.Node, offset: _Offset, loops: tuple[int, ...]) -> c_ast.Node:
        """Replace the pointer by its offset from the start in a node that does not move it."""
        if isinstance(node, c_ast.Decl) and node.name == self.name:
            return node
        has_distance = any(isinstance(inner, Distance) for inner in walk(node))
        if not has_distance and not offset.inside <= set(loops):
            raise _NotUnderstoodError
        return self._read(node, offset)

    def _read(self, node: c_ast.Node, offset: _Offset) -> c_ast.Node:
        match node:
            case Distance(name=name) if name == self.name:
                return offset.exact
            case c_ast.UnaryOp(op="*", expr=c_ast.ID(name=name) as own) if name == self.name:
                return c_ast.ArrayRef(own, offset.value, node.coord)
            case c_ast.ArrayRef(name=c_ast.ID(name=name) as own, subscript=by) if name == self.name:
                return c_ast.ArrayRef(own, offset.plus(self._read(by, offset)).value, node.coord)
            case c_ast.ID(name=name) if name == self.name:
                return node if _is_zero(offset.value) else _combined("+", node, offset.value)
        return mapped(node, lambda child: self._read(child, offset))

    def loop(
        self, node: c_ast.For, offset: _Offset, loops: tuple[int, ...]
    ) -> tuple[c_ast.Node, _Offset]:
        """Rewrite a loop that moves the pointer by the same distance in each iteration."""
        body, moves = node.stmt, node.next
        leaves = any(isinstance(inner, _LEAVING) for inner in walk(body))
        if leaves or any(self.name in names_in(part) for part in (node.init, node.cond) if part):
            raise _NotUnderstoodError
        if any(isinstance(inner, c_ast.Decl) and inner.name == self.name for inner in walk(body)):
            inner, _ = self.statement(body, _Offset(_ZERO), (*loops, id(node)))
            return c_ast.For(node.init, node.cond, moves, inner, node.coord), offset
        variable, done, count, step_of_loop = _range(node)
        steps = moves.exprs if isinstance(moves, c_ast.ExprList) else [moves] if moves else []
        own = [step for step in steps if _moves(step, self.name)]
        others = [step for step in steps if step not in own]
        counting = [step for step in others if _steps(step, variable)]
        if [step.op[-2:] for step in counting] != ([] if step_of_loop is None else [step_of_loop]):
            raise _NotUnderstoodError
        block = c_ast.Compound([body, *own], body.coord)
        changed = {base_name(changed_by(inner) or node) for inner in walk(block)} - {""}
        inner_loops = tuple(id(inner) for inner in walk(node) if isinstance(inner, c_ast.For))
        _, passed = self.statement(block, _Offset(_ZERO), loops + inner_loops)
        used = {*names_in(passed.value), *names_in(count)}
        declared = {inner.name for inner in walk(block) if isinstance(inner, c_ast.Decl)}
        if used & (changed | declared | {variable}):
            raise _NotUnderstoodError
        entered = offset.plus(_times(passed.value, done), passed.inside, _times(passed.exact, done))
        inner, _ = self.statement(block, entered, (*loops, id(node)))
        step = (others or [None])[0] if len(others) <= 1 else c_ast.ExprList(others)
        loop = c_ast.For(node.init, node.cond, step, inner, node.coord)
        inside = passed.inside | {id(node)}
        is_run = c_ast.BinaryOp(">", count, _ZERO, count.coord)
        runs = c_ast.TernaryOp(is_run, count, _ZERO, count.coord)
        exact = _times(_as_long(passed.exact), runs)
        return loop, offset.plus(_times(passed.value, count), inside, exact)


def _evaluated(node: c_ast.Node) -> Iterator[c_ast.Node]:
    """Yield the parts of an expression that are evaluated whatever their values."""
    yield node
    match node:
        case c_ast.UnaryOp(op="sizeof"):
            pass
        case c_ast.TernaryOp(cond=first):
            yield from _evaluated(first)
        case c_ast.BinaryOp(op="&&" | "||", left=first):
            yield from _evaluated(first)
        case _:
            for _, child in node.children():
                yield from _evaluated(child)


def _times(left: c_ast.Node, right: c_ast.Node) -> c_ast.Node:
    if _is_zero(left) or (isinstance(right, c_ast.Constant) and right.value == "1"):
        return left
    if isinstance(left, c_ast.Constant) and left.value == "1":
        return right
    return _combined("*", left, right)


def _combined(operator: str, left: c_ast.Node, right: c_ast.Node) -> c_ast.BinaryOp:
    return c_ast.BinaryOp(operator, left, right, left.coord or right.coord)


def _is_zero(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.Constant) and node.value == "0"


def _range(node: c_ast.For) -> tuple[str, c_ast.Node, c_ast.Node, str | None]:
    """Analyze a loop that counts up or down by 1.

    Returns:
        The variable, the number of iterations before the current one, the number of all
        iterations, and the step; None instead of a step that the condition contains.
    """
    start = loop_start(node)
    if start is None:
        raise _NotUnderstoodError
    name, first = start
    index: c_ast.Node = c_ast.ID(name, node.coord)
    match node.cond:
        case c_ast.BinaryOp(op=relation, left=c_ast.ID(name=tested), right=end) if tested == name:
            step: str | None = "++" if relation in ("<", "<=") else "--"
        case (
            c_ast.BinaryOp(
                op=">", left=c_ast.UnaryOp(op="p--", expr=c_ast.ID(name=tested)), right=end
            )
            | c_ast.UnaryOp(op="p--", expr=c_ast.ID(name=tested) as end)
        ) if tested == name and _is_signed(node.init):
            relation, step = "--", None
            end = end if isinstance(node.cond, c_ast.BinaryOp) else _ZERO
        case _:
            raise _NotUnderstoodError
    if not _is_signed(node.init):  # products with the distance must not wrap around
        index, first, end = (_as_long(part) for part in (index, first, end))
    one = c_ast.Constant("int", "1", node.coord)
    match relation:
        case "<":
            return name, _less(index, first), _less(end, first), step
        case "<=":
            return name, _less(index, first), _less(_combined("+", end, one), first), step
        case ">":
            return name, _less(first, index), _less(first, end), step
        case ">=":
            return name, _less(first, index), _less(_combined("+", first, one), end), step
        case "--":
            return name, _less(_less(first, one), index), _less(first, end), step
    raise _NotUnderstoodError


def _less(left: c_ast.Node, right: c_ast.Node) -> c_ast.Node:
    return left if _is_zero(right) else _combined("-", left, right)


def _is_signed(init: c_ast.Node) -> bool:
    """Whether the header of a loop declares its variable with a plain signed type."""
    match init:
        case c_ast.DeclList(decls=[c_ast.Decl(type=c_ast.TypeDecl(type=type_))]):
            return set(getattr(type_, "names", ())) <= {"int", "long", "short", "signed"}
    return True


def _as_long(node: c_ast.Node) -> c_ast.Node:
    long = c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(["long"]), node.coord)
    return node if isinstance(node, c_ast.Constant) else cast_to(long, node)


def _steps(step: c_ast.Node | None, variable: str) -> bool:
    """Whether a node moves a variable by 1."""
    match step:
        case c_ast.UnaryOp(op="p++" | "++" | "p--" | "--", expr=c_ast.ID(name=name)):
            return bool(name == variable)
    return False
