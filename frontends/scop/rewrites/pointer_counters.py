"""Rewrite pointers that move if a condition on data holds, as in ``if (c) *p++ = v``, to counters.

::

    T *p = out;                              T *p = out; long p_at = 0;
    if (x[i] > 0) *p++ = x[i];               if (x[i] > 0) { out[p_at] = x[i]; p_at++; }
    return p - out;                          return p_at;

The counter is data that the kernel computes, and so are the subscripts with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pycparser import c_ast

from polysched.frontends.scop.rewrites.loop_ranges import NotUnderstoodError, combined
from polysched.frontends.scop.rewrites.side_effects import with_steps_apart
from polysched.frontends.scop.rewrites.usage import base_name, changed_by
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.trees import Distance, mapped, names_in, walk

_STEPS = ("p++", "++", "p--", "--")


def with_counter(items: Sequence[c_ast.Node], name: str) -> tuple[c_ast.Node, ...]:
    """Rewrite one pointer of a function body.

    Args:
        name: a parameter, or a local variable that is declared once.

    Raises:
        NotUnderstoodError: the pointer is set, compared or copied, or declared elsewhere.
    """
    moved = {base_name(target) for item in items for target in _moved(item)}
    counter = Names(frozenset(name for item in items for name in names_in(item))).fresh(
        f"{name}_at"
    )
    rewriting = _Counter(name, counter, frozenset(moved))
    changed = [inner for item in items for inner in rewriting.statement(item)]
    declared = [node for item in items for node in walk(item) if isinstance(node, c_ast.Decl)]
    if [node.name for node in declared].count(name) != rewriting.is_declared:
        raise NotUnderstoodError  # the header of a loop declares it, or another block
    if not rewriting.is_declared:
        changed.insert(0, rewriting.declaration(items[0]))
    return tuple(inner for item in changed for inner in with_steps_apart(item))


def _moved(item: c_ast.Node) -> Iterator[c_ast.ID]:
    for node in walk(item):
        target = changed_by(node)
        if isinstance(target, c_ast.ID):
            yield target


class _Counter:
    """Rewriting of one pointer.

    Attributes:
        counter: the name of the counter.
        changed: the variables that change.
        start: the pointer that it starts at, which never moves; None if there is none.
        is_declared: whether the declaration of the pointer has been passed.
        is_moved: whether a statement that moves the pointer has been passed or entered.
    """

    def __init__(self, name: str, counter: str, changed: frozenset[str]) -> None:
        self.name, self.counter, self.changed = name, counter, changed
        self.start: str | None = None
        self.is_declared = self.is_moved = False

    def declaration(self, node: c_ast.Node) -> c_ast.Decl:
        """Return the declaration of the counter."""
        type_ = c_ast.TypeDecl(self.counter, [], None, c_ast.IdentifierType(["long"]), node.coord)
        zero = c_ast.Constant("int", "0", node.coord)
        return c_ast.Decl(self.counter, [], [], [], [], type_, zero, None, node.coord)

    def statement(self, node: c_ast.Node) -> list[c_ast.Node]:
        """Rewrite a statement of a block."""
        if not isinstance(node, c_ast.Compound):
            entered = node.cond if isinstance(node, c_ast.If) else node
            self.is_moved |= any(map(self.is_own, _moved(entered)))
        match node:
            case c_ast.Decl(name=name) if name == self.name:
                self.is_declared = True
                if isinstance(node.init, c_ast.ID) and node.init.name not in self.changed:
                    self.start = node.init.name
                return [node, self.declaration(node)]
            case c_ast.Compound(block_items=[*items]):
                changed = [inner for item in items for inner in self.statement(item)]
                return [c_ast.Compound(changed, node.coord)]
            case c_ast.For(init=init, cond=cond, next=step):
                parts = [part and self.moved(part) for part in (init, cond, step)]
                return [c_ast.For(*parts, self.block(node.stmt), node.coord)]
            case c_ast.While() | c_ast.DoWhile():
                cond = self.value(node.cond)
                return [type(node)(cond, self.block(node.stmt), node.coord)]
            case c_ast.If():
                sides = [side and self.block(side) for side in (node.iftrue, node.iffalse)]
                return [c_ast.If(self.value(node.cond), *sides, node.coord)]
        return [self.moved(node)]

    def block(self, node: c_ast.Node) -> c_ast.Node:
        """Rewrite a statement to one statement."""
        changed = self.statement(node)
        return changed[0] if len(changed) == 1 else c_ast.Compound(changed, node.coord)

    def moved(self, node: c_ast.Node) -> c_ast.Node:
        """Rewrite an expression whose value nothing uses."""
        match node:
            case c_ast.ExprList(exprs=[*parts]):
                return c_ast.ExprList(list(map(self.moved, parts)), node.coord)
            case c_ast.UnaryOp(op=operator, expr=own) if operator in _STEPS and self.is_own(own):
                return c_ast.UnaryOp(operator, self.at(own), node.coord)
            case c_ast.Assignment(op="+=" | "-=" as operator, lvalue=own) if self.is_own(own):
                by = self.value(node.rvalue)
                return c_ast.Assignment(operator, self.at(own), by, node.coord)
        return self.value(node)

    def value(self, node: c_ast.Node) -> c_ast.Node:
        """Rewrite an expression.

        Raises:
            NotUnderstoodError: it uses the pointer other than to access an element.
        """
        match node:
            case Distance() if self.is_own(node):
                return self.at(node)
            case c_ast.UnaryOp(op="*", expr=own) if self.is_own(own):
                return c_ast.ArrayRef(self.array(own), self.at(own), node.coord)
            case c_ast.UnaryOp(op="*", expr=c_ast.UnaryOp(op=operator, expr=own) as step) if (
                operator in _STEPS and self.is_own(own)
            ):
                moved = c_ast.UnaryOp(operator, self.at(own), step.coord)
                return c_ast.ArrayRef(self.array(own), moved, node.coord)
            case c_ast.ArrayRef(name=own, subscript=by) if self.is_own(own):
                at = combined("+", self.at(own), self.value(by))
                return c_ast.ArrayRef(self.array(own), at, node.coord)
            case c_ast.BinaryOp(op="-", left=own, right=c_ast.ID(name=start)) if (
                self.is_own(own) and start == self.start
            ):
                return self.at(own)
            case c_ast.StructRef(name=own, type="->") if self.is_own(own):
                element = c_ast.ArrayRef(self.array(own), self.at(own), node.coord)
                return c_ast.StructRef(element, ".", node.field, node.coord)
        if self.is_own(node) and self.is_moved:
            raise NotUnderstoodError
        return mapped(node, self.value)

    def is_own(self, node: c_ast.Node) -> bool:
        """Whether a node is the pointer."""
        return isinstance(node, c_ast.ID) and bool(node.name == self.name)

    def array(self, node: c_ast.Node) -> c_ast.ID:
        """Return the array that the counter is a subscript of."""
        return c_ast.ID(self.start or self.name, node.coord)

    def at(self, node: c_ast.Node) -> c_ast.ID:
        """Return the counter."""
        return c_ast.ID(self.counter, node.coord)
