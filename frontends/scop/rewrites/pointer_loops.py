"""Count the iterations of loops that end at a pointer.

::

    const float *end = x + n;                for (long passed = 0; passed < n; passed++)
    while (x < end) s += *x++;                   s += *x++;

    do s += *x++; while (x < end);           for (long passed = 0; passed < (n > 1 ? n : 1); ...)
                                                 s += *x++;

    for (p = x; p != x + n; p++) s += *p;    float *p_at = x;
                                             for (long passed = 0; passed < n; passed++, p_at++)
                                                 s += *p_at;

Comparisons of pointers into one array compare their distances from its start. The pointers still
walk: :mod:`polysched.frontends.scop.rewrites.walks` turns them into subscripts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pycparser import c_ast

from polysched.frontends.scop.rewrites.after_loops import step_of
from polysched.frontends.scop.rewrites.usage import (
    changed_names,
    changes,
    declared_names,
    evaluated,
)
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.quoting import c_expression, c_statement, variable
from polysched.frontends.scop.source.trees import mapped, names_in, substituted, walk

_LEAVING = c_ast.Continue | c_ast.Break | c_ast.Return | c_ast.Goto
_TURNED = {"<": ">", ">": "<", "!=": "!=", "<=": ">=", ">=": "<="}


@dataclass(frozen=True)
class _Position:
    """Pointer value: the distance from where a pointer was when `of` was set to it."""

    root: str
    distance: c_ast.Node | None = None


Positions = Mapping[str, tuple[_Position, ...]]
"""The positions of the pointers that have not moved since, by name."""


def with_counted_pointers(
    items: Sequence[c_ast.Node], pointers: Sequence[str]
) -> tuple[c_ast.Node, ...]:
    """Rewrite the loops of a function body that end at a pointer.

    Args:
        pointers: the parameters that are pointers.
    """
    declared = {
        node.name: node
        for item in items
        for node in walk(item)
        if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.PtrDecl)
    }
    names = Names(frozenset(name for item in items for name in (*names_in(item), *declared)))
    rewriting = _Rewriting(declared, names, tuple(items))
    changed, _ = rewriting.items(items, {name: (_Position(name),) for name in pointers})
    if not rewriting.found:
        return tuple(items)
    used = {name for item in changed for name in names_in(item)}
    return tuple(_without_unused(item, rewriting.ends, used) for item in changed)


@dataclass
class _Rewriting:
    """Rewriting of one function body.

    Attributes:
        declared: the declarations of the local pointers.
        whole: the statements of the function.
        found: whether a loop has been rewritten.
        ends: the pointers that conditions compared with.
    """

    declared: Mapping[str, c_ast.Decl]
    names: Names
    whole: tuple[c_ast.Node, ...]
    found: bool = False
    ends: set[str] = field(default_factory=set)

    def items(
        self, items: Sequence[c_ast.Node], at: Positions
    ) -> tuple[tuple[c_ast.Node, ...], Positions]:
        """Rewrite statements in order; return them and the positions after them."""
        result = []
        for item in items:
            result.append(self.statement(item, at))
            at = _after(item, at)
        return tuple(result), at

    def statement(self, node: c_ast.Node, at: Positions) -> c_ast.Node:
        match node:
            case c_ast.Compound(block_items=[*items]):
                return c_ast.Compound(list(self.items(items, at)[0]), node.coord)
            case c_ast.If():
                sides = [s and self.statement(s, at) for s in (node.iftrue, node.iffalse)]
                return c_ast.If(node.cond, *sides, node.coord)
            case c_ast.While() | c_ast.For() | c_ast.DoWhile():
                counted = self.counted(node, at)
                inside = _after(node, at)
                if counted is not None:
                    self.found = True
                    return counted
                body = self.statement(node.stmt, inside)
                if isinstance(node, c_ast.While | c_ast.DoWhile):
                    return type(node)(node.cond, body, node.coord)
                return c_ast.For(node.init, node.cond, node.next, body, node.coord)
        return node

    def counted(
        self, node: c_ast.While | c_ast.For | c_ast.DoWhile, at: Positions
    ) -> c_ast.Node | None:
        """Return the loop with a counter in place of its comparison; None if it has none."""
        if any(isinstance(inner, _LEAVING) for inner in walk(node.stmt)):
            return None
        init, step = (node.init, node.next) if isinstance(node, c_ast.For) else (None, None)
        for name, relation, end in _comparisons(node.cond):
            if not (name in self.declared or name in at):
                continue
            before, start = self.started(init, name, node)
            if start is not None:
                at = {**at, name: (_Position(name), *_positions(start, at))}
            steps = step.exprs if isinstance(step, c_ast.ExprList) else [step] if step else []
            moving = c_ast.Compound([node.stmt, *steps])
            by = _moved(moving, name)
            distance = _distance(at.get(name, ()), _positions(end, at))
            changed = changed_names(node)
            if before is None or by is None or distance is None:
                continue
            if set(names_in(distance)) & changed:
                continue
            # Two pointers that meet, such as ``while (a < b) { ...; a++; b--; }``.
            if set(names_in(end)) & changed:
                other = _moved(moving, end.name) if isinstance(end, c_ast.ID) else None
                if other is None or by * other > 0:
                    continue
                by -= other
            if relation != "!=" and relation not in (("<", "<=") if by > 0 else (">", ">=")):
                continue
            self.ends |= {name for name in names_in(end) if name in self.declared}
            count = _count(distance, relation, by)
            if isinstance(node, c_ast.DoWhile):
                count = c_expression("count > 1 ? count : 1", node, count=count)
            return self.loop(node, name, before, steps, count)
        return None

    def started(
        self, init: c_ast.Node | None, name: str, loop: c_ast.Node
    ) -> tuple[list[c_ast.Decl] | None, c_ast.Node | None]:
        """Return the declaration that sets a pointer before its loop, and the value it gets.

        None instead of declarations if the loop sets something else, or if the pointer is used
        outside the loops that set it.
        """
        match init:
            case None:
                return [], None
            # The pointer is declared in front of the loop, under a name of its own.
            case c_ast.DeclList(decls=[c_ast.Decl(name=own, init=c_ast.Node()) as declared]) if (
                own == name
            ):
                return [declared], declared.init
            case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=own), rvalue=value) if own == name:
                uses = sum(names_in(item).count(name) for item in self.whole)
                inside = sum(
                    names_in(loop).count(name) for loop in _loops_setting(self.whole, name)
                )
                declared = self.declared.get(name)
                if declared is None or declared.init is not None or uses != inside:
                    return None, None
                self.ends.add(name)
                return [variable(name, declared.type, value, loop)], value
        return None, None

    def loop(
        self,
        node: c_ast.While | c_ast.For | c_ast.DoWhile,
        name: str,
        before: list[c_ast.Decl],
        steps: Sequence[c_ast.Node],
        count: c_ast.Node,
    ) -> c_ast.Node:
        """Return the loop that counts."""
        counter = self.names.fresh(f"{name}_passed")
        loop = c_statement(
            "for (long t = 0; t < count; t++) body;", node, t=counter, count=count, body=node.stmt
        )
        if steps:
            loop.next = c_ast.ExprList([loop.next, *steps], node.coord)
        if not before:
            return loop
        (declared,) = before
        own = self.names.fresh(f"{name}_at")
        copy = variable(own, declared.type, declared.init, declared)
        renamed = substituted(loop, {name: c_ast.ID(own, node.coord)})
        return c_ast.Compound([copy, renamed], node.coord)


def _loops_setting(items: Sequence[c_ast.Node], name: str) -> Iterator[c_ast.For]:
    """Yield the outermost loops whose header sets a variable."""
    for item in items:
        match item:
            case c_ast.For(init=c_ast.Assignment(lvalue=c_ast.ID(name=own))) if own == name:
                yield item
            case _:
                yield from _loops_setting([child for _, child in item.children()], name)


def _after(item: c_ast.Node, at: Positions) -> Positions:
    """Return the positions that a statement leaves known."""
    changed = changed_names(item) | declared_names(item)
    kept = {
        name: tuple(
            position
            for position in positions
            if position.root not in changed
            and not (position.distance and changed & set(names_in(position.distance)))
        )
        for name, positions in at.items()
        if name not in changed
    }
    # A pointer that moves is a root of its own again: positions from its old value are forgotten.
    kept |= {name: (_Position(name),) for name in at if name in changed}
    match item:
        case c_ast.Decl(name=name, type=c_ast.PtrDecl(), init=init):
            found = () if init is None else _positions(init, at)
            kept[name] = (
                _Position(name),
                *(position for position in found if position.root != name),
            )
        case c_ast.DeclList(decls=declarations):
            for declaration in declarations:
                kept = dict(_after(declaration, kept))
    return kept


def _positions(node: c_ast.Node, at: Positions) -> tuple[_Position, ...]:
    """Return the known positions of a pointer expression."""
    match node:
        case c_ast.ID(name=name):
            return at.get(name, ())
        case c_ast.UnaryOp(op="&", expr=c_ast.ArrayRef(name=inner, subscript=by)):
            return _positions(c_ast.BinaryOp("+", inner, by, node.coord), at)
        case c_ast.BinaryOp(op="+" | "-" as operator, left=left, right=right):
            signed = right if operator == "+" else c_ast.UnaryOp("-", right, right.coord)
            return tuple(
                _Position(
                    position.root,
                    signed
                    if position.distance is None
                    else c_ast.BinaryOp(operator, position.distance, right, node.coord),
                )
                for position in _positions(left, at)
            )
    return ()


def _distance(starts: Sequence[_Position], ends: Sequence[_Position]) -> c_ast.Node | None:
    """Return the distance between two positions from one root, the simplest first."""
    for start in starts:
        for end in ends:
            if start.root != end.root:
                continue
            far = end.distance or c_ast.Constant("int", "0")
            if start.distance is None:
                return far
            return c_ast.BinaryOp("-", far, start.distance, far.coord)
    return None


def _comparisons(node: c_ast.Node | None) -> Iterator[tuple[str, str, c_ast.Node]]:
    """Yield a comparison with a variable on either side, as ``variable relation end``."""
    match node:
        case c_ast.BinaryOp(op=operator, left=left, right=right) if operator in _TURNED:
            if isinstance(left, c_ast.ID):
                yield left.name, operator, right
            if isinstance(right, c_ast.ID):
                yield right.name, _TURNED[operator], left


def _moved(node: c_ast.Node, name: str) -> int | None:
    """Return the number of elements by which a block moves a pointer; None if unknown or 0."""
    moves = [inner for inner in walk(node) if changes(inner, name)]
    certain = [inner for inner in evaluated(node) if changes(inner, name)]
    steps = [step_of(move) for move in moves]
    total = sum(step[1] for step in steps if step is not None)
    return total if total and None not in steps and len(moves) == len(certain) else None


def _count(distance: c_ast.Node, relation: str, by: int) -> c_ast.Node:
    """Return the number of iterations of a loop over a distance in steps of `by`."""
    if by < 0:
        distance = c_ast.UnaryOp("-", distance, distance.coord)
    size = abs(by)
    more = (size - 1 if relation != "!=" else 0) + (1 if relation in ("<=", ">=") else 0)
    if more:
        distance = c_ast.BinaryOp("+", distance, c_ast.Constant("int", str(more)), distance.coord)
    if size == 1:
        return distance
    return c_ast.BinaryOp("/", distance, c_ast.Constant("int", str(size)), distance.coord)


def _without_unused(node: c_ast.Node, names: set[str], used: set[str]) -> c_ast.Node:
    """Drop the declarations of pointers that nothing uses any more."""
    if isinstance(node, c_ast.Decl) and node.name in names - used:
        return c_ast.EmptyStatement(node.coord)
    return mapped(node, lambda child: _without_unused(child, names, used))
