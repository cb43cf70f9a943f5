"""Turn the assignments to a variable that is declared before into declarations.

::

    const float *p;                      { const float *p_2 = x; while (n--) s += *p_2++; }
    for (i = 0; i < m; i++) {
        p = x; while (n--) s += *p++;
    }

Each assignment becomes a variable of its own, up to the next one in the same block. A variable
stays unchanged if a use of it may follow several of its assignments. Pointers are rewritten, and
integers in bounds of loops and in subscripts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pycparser import c_ast

from polysched.frontends.scop.rewrites.usage import base_name, changed_by
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.trees import LOOPS, StandIn, mapped, names_in, walk


def with_pointer_values(items: Sequence[c_ast.Node], names: Names) -> tuple[c_ast.Node, ...]:
    """Declare a variable for each value that an assignment gives to a pointer or a bound."""
    result = _without_chains(map(_with_moves, items))
    pointers = {
        node.name
        for item in result
        for node in walk(item)
        if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.PtrDecl)
    }
    result = _with_starts_before(result, pointers)
    nodes = [node for item in result for node in walk(item)]
    declared = [node for node in nodes if isinstance(node, c_ast.Decl)]
    parts = [node.subscript for node in nodes if isinstance(node, c_ast.ArrayRef)]
    for node in nodes:
        if isinstance(node, LOOPS):
            parts += [part for part in (node.cond, getattr(node, "init", None)) if part is not None]
    bounds = {name for part in parts for name in names_in(part)}
    for node in declared:
        is_pointer = isinstance(node.type, c_ast.PtrDecl)
        is_plain = is_pointer and isinstance(node.type.type, c_ast.TypeDecl)
        is_plain |= isinstance(node.type, c_ast.TypeDecl) and node.name in bounds
        is_single = [declaration.name for declaration in declared].count(node.name) == 1
        is_set = any(_sets(inner, node.name) for item in result for inner in walk(item))
        if is_plain and is_single and is_set:
            try:
                result = _Values(node, names).block(result, None)
            except _SeveralValuesError:
                continue
    return result


def _with_moves(node: c_ast.Node) -> c_ast.Node:
    """Rewrite ``p = p + e`` to ``p += e``."""
    match node:
        case c_ast.Assignment(
            op="=",
            lvalue=c_ast.ID(name=name) as own,
            rvalue=c_ast.BinaryOp(op="+" | "-" as operator, left=c_ast.ID(name=other), right=by),
        ) if name == other and name not in names_in(by):
            return c_ast.Assignment(f"{operator}=", own, by, node.coord)
    return mapped(node, _with_moves)


def _without_chains(items: Iterable[c_ast.Node]) -> tuple[c_ast.Node, ...]:
    """Rewrite ``p = q = e`` to ``q = e; p = q``."""

    def inside(node: c_ast.Node) -> c_ast.Node:
        node = mapped(node, inside)
        if not isinstance(node, c_ast.Compound) or not node.block_items:
            return node
        return c_ast.Compound(
            [part for item in node.block_items for part in split(item)], node.coord
        )

    def split(node: c_ast.Node) -> Iterator[c_ast.Node]:
        match node:
            case c_ast.Assignment(
                op="=", lvalue=c_ast.ID(), rvalue=c_ast.Assignment(op="=", lvalue=c_ast.ID()) as own
            ):
                yield from split(own)
                yield c_ast.Assignment("=", node.lvalue, own.lvalue, node.coord)
            case _:
                yield node

    return tuple(part for item in map(inside, items) for part in split(item))


def _with_starts_before(
    items: Iterable[c_ast.Node], pointers: Collection[str]
) -> tuple[c_ast.Node, ...]:
    """Move the assignments to pointers in front of the loops whose headers contain them."""

    def inside(node: c_ast.Node) -> c_ast.Node:
        if isinstance(node, c_ast.Compound):
            block = _with_starts_before(node.block_items or (), pointers)
            is_same = list(block) == list(node.block_items or ())
            return node if is_same else c_ast.Compound(list(block), node.coord)
        return mapped(node, inside)

    result: list[c_ast.Node] = []
    for item in map(inside, items):
        starts = _starts(item, pointers)
        result += [*starts, _without_starts(item, starts) if starts else item]
    return tuple(result)


def _without_starts(node: c_ast.For, starts: Collection[c_ast.Node]) -> c_ast.For:
    kept = [expression for expression in node.init.exprs if expression not in starts]
    init = c_ast.ExprList(kept, node.coord) if len(kept) > 1 else (kept or [None])[0]
    return c_ast.For(init, node.cond, node.next, node.stmt, node.coord)


def _starts(node: c_ast.Node, pointers: Collection[str]) -> list[c_ast.Node]:
    """Return the assignments to pointers in the header of a loop that may come first."""
    if not isinstance(node, c_ast.For) or not isinstance(node.init, c_ast.ExprList):
        return []
    found = [
        expression
        for expression in node.init.exprs
        if any(_sets(expression, name) for name in pointers)
    ]
    others = [expression for expression in node.init.exprs if expression not in found]
    own = {assignment.lvalue.name for assignment in found}
    set_ = own | {
        base_name(changed_by(inner) or inner) for expression in others for inner in walk(expression)
    }
    read = {name for assignment in found for name in names_in(assignment.rvalue)}
    is_apart = not read & set_ and not any(own & {*names_in(expression)} for expression in others)
    return found if is_apart else []


def _sets(node: c_ast.Node, name: str) -> bool:
    target = changed_by(node) if isinstance(node, c_ast.Assignment) and node.op == "=" else None
    return isinstance(target, c_ast.ID) and bool(target.name == name)


class _SeveralValuesError(Exception):
    """A use of a pointer may follow several of its assignments."""


@dataclass(frozen=True)
class _Values:
    """Rewriting of one pointer."""

    declaration: c_ast.Decl
    names: Names

    @property
    def name(self) -> str:
        name: str = self.declaration.name
        return name

    def block(self, items: Iterable[c_ast.Node], current: str | None) -> tuple[c_ast.Node, ...]:
        """Rewrite the statements of a block; `current` is the pointer's name before them."""
        result: list[c_ast.Node] = []
        for item in items:
            if item is self.declaration:
                if item.init is None:
                    continue
                current = self.name
                result.append(item)
            elif _sets(item, self.name):
                value = self.renamed(item.rvalue, current)
                current = self.names.fresh(self.name)
                result.append(self.declared(current, value, item))
            elif any(_sets(inner, self.name) for inner in walk(item)):
                result.append(self.nested(item))
                current = None
            else:
                result.append(self.renamed(item, current))
        return tuple(result)

    def nested(self, node: c_ast.Node) -> c_ast.Node:
        """Rewrite a statement whose inner blocks set the pointer before they use it."""
        if _sets(node, self.name):
            raise _SeveralValuesError
        if isinstance(node, c_ast.Compound):
            return c_ast.Compound(list(self.block(node.block_items or (), None)), node.coord)
        if not any(_sets(inner, self.name) for inner in walk(node)):
            return self.renamed(node, None)
        return mapped(node, self.nested)

    def renamed(self, node: c_ast.Node, current: str | None) -> c_ast.Node:
        """Replace the pointer by its current name."""
        if self.name not in names_in(node):
            return node
        if current is None:
            raise _SeveralValuesError
        if isinstance(node, c_ast.ID):
            return StandIn(current, node)
        return mapped(node, lambda child: self.renamed(child, current))

    def declared(self, name: str, value: c_ast.Node, node: c_ast.Node) -> c_ast.Decl:
        type_ = self.declaration.type
        if isinstance(type_, c_ast.TypeDecl):
            own: c_ast.Node = c_ast.TypeDecl(name, [], None, type_.type, node.coord)
        else:
            inner = c_ast.TypeDecl(name, type_.type.quals, None, type_.type.type, node.coord)
            own = c_ast.PtrDecl([], inner, node.coord)
        return c_ast.Decl(name, [], [], [], [], own, value, None, node.coord)
