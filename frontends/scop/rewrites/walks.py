"""Rewrite pointers that walk through an array, as in ``*p++``, to subscripts of the loop variables.

::

    for (y = 0; y < h; y++)              for (y = 0; y < h; y++)
      for (x = 0; x < w; x++)              for (x = 0; x < w; x++)
        *d++ = *s++;                         d[y*w + x] = s[y*w + x];

The number of elements that a loop passes is the length of its range, which holds unless the range
is shorter than empty. The element is therefore only used inside the loop that passes it. A pointer
whose moves depend on data gets a counter (:mod:`.pointer_counters`). A pointer whose moves are not
understood is left alone and refused where it is translated.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from pycparser import c_ast

from polysched.frontends.scop.rewrites.loop_ranges import (
    ZERO,
    NotUnderstoodError,
    as_long,
    combined,
    counted,
    times,
)
from polysched.frontends.scop.rewrites.pointer_counters import with_counter
from polysched.frontends.scop.rewrites.size_values import c_text
from polysched.frontends.scop.rewrites.usage import (
    base_name,
    changed_by,
    changed_names,
    changes,
    declared_names,
    evaluated,
)
from polysched.frontends.scop.source.quoting import c_expression
from polysched.frontends.scop.source.trees import (
    Distance,
    cast_to,
    is_zero,
    loop_start,
    mapped,
    names_in,
    walk,
)

_MOVES = {"p++": "+", "++": "+", "p--": "-", "--": "-", "+=": "+", "-=": "-"}
_WIDE = frozenset({"long", "size_t", "ptrdiff_t", "ssize_t", "int64_t", "uint64_t"})
_EXACT = frozenset({*_WIDE, "int", "signed", "unsigned", "int32_t"})
_LEAVING = c_ast.Continue | c_ast.Break | c_ast.Return | c_ast.Goto


def without_counters(items: Sequence[c_ast.Node]) -> tuple[c_ast.Node, ...]:
    """Rewrite the local integers that walk through an array, as in ``x[k++]``."""
    result = tuple(items)
    for name, type_ in _subscript_counters(items):
        try:
            result, _ = _Walk(name, type_).items(result, _Offset(ZERO), ())
        except NotUnderstoodError:
            continue
    return result


def _subscript_counters(items: Sequence[c_ast.Node]) -> Iterator[tuple[str, c_ast.TypeDecl]]:
    """Yield the local integers with a first value that are only counted, in subscripts too.

    Narrow and unsigned ones may wrap around, except for those as wide as addresses.
    """
    nodes = [node for item in items for node in walk(item)]
    subscripts = [node.subscript for node in nodes if isinstance(node, c_ast.ArrayRef)]
    used = {name for subscript in subscripts for name in names_in(subscript)}
    loops = {
        start[0] for node in nodes if isinstance(node, c_ast.For) and (start := loop_start(node))
    }
    declared = [node for node in nodes if isinstance(node, c_ast.Decl)]
    names = [node.name for node in declared]
    for node in declared:
        words = set(getattr(getattr(node.type, "type", None), "names", ()))
        is_number = isinstance(node.type, c_ast.TypeDecl) and node.init is not None
        is_number &= words <= _EXACT and (bool(words & _WIDE) or "unsigned" not in words)
        moves = [move for move in nodes if changes(move, node.name)]
        is_counted = bool(moves) and all(getattr(move, "op", "") in _MOVES for move in moves)
        is_single = names.count(node.name) == 1 and node.name not in loops
        if is_number and is_single and is_counted and node.name in used:
            yield node.name, node.type


def without_walks(items: Sequence[c_ast.Node], pointers: Collection[str]) -> tuple[c_ast.Node, ...]:
    """Rewrite the pointers of a function body that walk.

    Args:
        pointers: the parameters that are pointers.
    """
    result = tuple(items)
    local = local_pointers(items)
    for name in dict.fromkeys([*pointers, *local]):
        moved = any(changes(node, name) for item in result for node in walk(item))
        if moved and local.count(name) + (name in pointers) == 1:
            for rewritten in (_walked, with_counter, _walked_anywhere):
                with contextlib.suppress(NotUnderstoodError):
                    result = rewritten(result, name)
                    break
    return result


def _walked(items: tuple[c_ast.Node, ...], name: str) -> tuple[c_ast.Node, ...]:
    return _Walk(name).items(items, _Offset(ZERO), ())[0]


def _walked_anywhere(items: tuple[c_ast.Node, ...], name: str) -> tuple[c_ast.Node, ...]:
    return _Walk(name, is_read_anywhere=True).items(items, _Offset(ZERO), ())[0]


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


@dataclass(frozen=True)
class _Offset:
    """Distance from the start of the walk, valid inside certain loops only.

    Attributes:
        value: the distance.
        inside: the loops.
        anywhere: the distance that is valid anywhere; None for `value`.
        is_lost: whether the distance has no expression, so that the variable cannot be used.
    """

    value: c_ast.Node
    inside: frozenset[int] = frozenset()
    anywhere: c_ast.Node | None = None
    is_lost: bool = False

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
        if is_zero(other):
            return self
        value, anywhere = (
            more if is_zero(before) else combined("+", before, more)
            for before, more in ((self.value, other), (self.exact, exact or other))
        )
        is_same = self.anywhere is None and exact is None
        return _Offset(value, self.inside | inside, None if is_same else anywhere)


@dataclass(frozen=True)
class _Walk:
    """Rewriting of one pointer, or of an integer of a type.

    Attributes:
        type_: the type of an integer.
        is_read_anywhere: whether a pointer may be read outside the loops that move it.
    """

    name: str
    type_: c_ast.TypeDecl | None = None
    is_read_anywhere: bool = False

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
            return node, _Offset(ZERO)
        if self.name not in names_in(node):
            return node, offset
        if offset.is_lost:
            raise NotUnderstoodError
        if not any(changes(inner, self.name) for inner in walk(node)):
            return self.read(node, offset, loops), offset
        if changes(node, self.name):
            return None, offset.plus(self.distance(node))
        match node:
            case c_ast.Compound(block_items=items):
                changed, after = self.items(items or (), offset, loops)
                return c_ast.Compound(list(changed), node.coord), after
            case c_ast.For():
                return self.loop(node, offset, loops)
            case c_ast.If():
                return self.branch(node, offset, loops)
            case c_ast.Assignment() | c_ast.UnaryOp() | c_ast.Decl():
                return self.moving(node, offset, loops)
        raise NotUnderstoodError

    def branch(
        self, node: c_ast.If, offset: _Offset, loops: tuple[int, ...]
    ) -> tuple[c_ast.Node, _Offset]:
        """Rewrite an ``if``; branches that move the pointer by different distances lose it."""
        cond = node.cond
        if any(changes(inner, self.name) for inner in walk(cond)):
            cond, offset = self.moving(cond, offset, loops)
        elif self.name in names_in(cond):
            cond = self.read(cond, offset, loops)
        sides: list[c_ast.Node | None] = []
        ends = []
        for side in (node.iftrue, node.iffalse):
            if side is None:
                sides.append(None)
                ends.append(offset)
            else:
                changed, after = self.items((side,), offset, loops)
                sides.append(c_ast.Compound(list(changed), side.coord))
                ends.append(after)
        texts = {(c_text(end.value), c_text(end.exact), end.inside, end.is_lost) for end in ends}
        after = ends[0] if len(texts) == 1 else _Offset(ZERO, is_lost=True)
        return c_ast.If(cond, *sides, node.coord), after

    def distance(self, move: c_ast.Node) -> c_ast.Node:
        """Return the number of elements by which a statement moves the pointer."""
        operator = _MOVES.get(move.op)
        if operator is None:
            raise NotUnderstoodError
        by = (
            move.rvalue
            if isinstance(move, c_ast.Assignment)
            else c_ast.Constant("int", "1", move.coord)
        )
        if self.name in names_in(by):
            raise NotUnderstoodError
        return by if operator == "+" else c_ast.UnaryOp("-", by, by.coord)

    def moving(
        self, node: c_ast.Node, offset: _Offset, loops: tuple[int, ...]
    ) -> tuple[c_ast.Node, _Offset]:
        """Rewrite a statement with one ``*p++`` in it, which is always evaluated."""
        moves = [inner for inner in evaluated(node) if changes(inner, self.name)]
        if len(moves) != 1 or names_in(node).count(self.name) != 1:
            raise NotUnderstoodError
        (move,) = moves
        if not isinstance(move, c_ast.UnaryOp):
            raise NotUnderstoodError
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
        if not offset.inside <= set(loops):
            has_distance = any(isinstance(inner, Distance) for inner in walk(node))
            if not (has_distance or self.type_ is not None or self.is_read_anywhere):
                raise NotUnderstoodError
            return self._read(node, _Offset(offset.exact))
        return self._read(node, offset)

    def _read(self, node: c_ast.Node, offset: _Offset) -> c_ast.Node:
        match node:
            case Distance(name=name) if name == self.name:
                return offset.exact
            case c_ast.UnaryOp(op="*", expr=c_ast.ID(name=name) as own) if name == self.name:
                return c_ast.ArrayRef(own, offset.value, node.coord)
            case c_ast.ArrayRef(name=c_ast.ID(name=name) as own, subscript=by) if name == self.name:
                return c_ast.ArrayRef(own, offset.plus(self._read(by, offset)).value, node.coord)
            case c_ast.ArrayRef(subscript=by) if self.type_ is not None:
                array = self._read(node.name, offset)
                return c_ast.ArrayRef(array, self._moved(by, offset), node.coord)
            case c_ast.ID(name=name) if name == self.name and self.type_ is not None:
                own = c_ast.TypeDecl(None, [], None, self.type_.type)
                return node if is_zero(offset.value) else cast_to(own, self._moved(node, offset))
            case c_ast.ID(name=name) if name == self.name:
                return self._moved(node, offset)
        return mapped(node, lambda child: self._read(child, offset))

    def _moved(self, node: c_ast.Node, offset: _Offset) -> c_ast.Node:
        """Add the offset to the uses of the variable in a sum; a subscript has 64 bits."""
        match node:
            case c_ast.ID(name=name) if name == self.name:
                return node if is_zero(offset.value) else combined("+", node, offset.value)
            case c_ast.BinaryOp(op="+" | "-" | "*" as operator, left=left, right=right):
                sides = (self._moved(left, offset), self._moved(right, offset))
                return c_ast.BinaryOp(operator, *sides, node.coord)
        return self._read(node, offset)

    def loop(
        self, node: c_ast.For, offset: _Offset, loops: tuple[int, ...]
    ) -> tuple[c_ast.Node, _Offset]:
        """Rewrite a loop that moves the pointer by the same distance in each iteration."""
        body, moves = node.stmt, node.next
        leaves = any(isinstance(inner, _LEAVING) for inner in walk(body))
        if leaves or any(self.name in names_in(part) for part in (node.init, node.cond) if part):
            raise NotUnderstoodError
        if any(isinstance(inner, c_ast.Decl) and inner.name == self.name for inner in walk(body)):
            inner, _ = self.statement(body, _Offset(ZERO), (*loops, id(node)))
            return c_ast.For(node.init, node.cond, moves, inner, node.coord), offset
        steps = moves.exprs if isinstance(moves, c_ast.ExprList) else [moves] if moves else []
        own = [step for step in steps if changes(step, self.name)]
        others = [step for step in steps if step not in own]
        variable, done, count = counted(node, others)
        block = c_ast.Compound([body, *own], body.coord)
        changed = changed_names(block)
        inner_loops = tuple(id(inner) for inner in walk(node) if isinstance(inner, c_ast.For))
        _, passed = self.statement(block, _Offset(ZERO), loops + inner_loops)
        if passed.is_lost:
            raise NotUnderstoodError
        used = {*names_in(passed.value), *names_in(count)}
        declared = declared_names(block)
        if used & (changed | declared | {variable}):
            raise NotUnderstoodError
        entered = offset.plus(times(passed.value, done), passed.inside, times(passed.exact, done))
        inner, _ = self.statement(block, entered, (*loops, id(node)))
        step = (others or [None])[0] if len(others) <= 1 else c_ast.ExprList(others)
        loop = c_ast.For(node.init, node.cond, step, inner, node.coord)
        inside = passed.inside | {id(node)}
        runs = c_expression("count > 0 ? count : 0", count, count=count)
        exact = times(as_long(passed.exact), runs)
        return loop, offset.plus(times(passed.value, count), inside, exact)
