"""Pointers that a part of a function reads and does not change, read before it.

::

    for (i = 0; i < n; i++) out[c][i] = 0;       float *out_c = 0 < n ? out[c] : 0;
                                                 for (i = 0; i < n; i++) out_c[i] = 0;

    for (i = 0; i < e->count; i++)               item *e_items = e ? e->items : 0;
        e->items[i].x += 1;                      for (i = 0; i < e->count; i++) e_items[i].x += 1;

A row pointer is read before its loops only if they certainly read it. A store through a pointer to
characters may change a pointer, so regions with such stores stay unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pycparser import c_ast

from polysched.frontends.scop.rewrites.region import Region
from polysched.frontends.scop.rewrites.size_values import c_text
from polysched.frontends.scop.rewrites.usage import base_name, changed_by, changed_names
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.quoting import c_expression, variable
from polysched.frontends.scop.source.trees import (
    StandIn,
    loop_start,
    mapped,
    names_in,
    substituted,
    walk,
)

StructOf = Callable[[c_ast.Node], c_ast.Struct | None]
"""Returns the struct that a type without dimensions is; None for others."""
HasBytes = Callable[[c_ast.Node], bool]
"""Whether a type is that of characters, contains some, or is not known."""


def with_hoisted_pointers(
    region: Region, struct_of: StructOf, has_bytes: HasBytes, names: Names
) -> Region:
    """Replace invariant pointers by local variables, which the code before the call sets."""
    if region.is_function:
        return region
    declared = {node.name: node for node in region.around}
    changed = set(_changed(region))
    hoisting = _Hoisting(declared, changed, struct_of, names)
    items = tuple(hoisting.rewritten(item, ()) for item in region.items)
    if not hoisting.found or (len(region.items) > 1 and hoisting.has_rows):
        return region  # the guards are those of a single loop
    before = (*region.before, *hoisting.found.values())
    result = replace(region, items=items, before=before)
    if not _keeps_pointers(result, hoisting, has_bytes):
        return region
    return replace(result, hoisted=tuple(map(c_text, hoisting.found.values())))


def _keeps_pointers(region: Region, hoisting: _Hoisting, has_bytes: HasBytes) -> bool:
    """Whether no store of a region can change a pointer that is read before it."""
    types = {node.name: node.type for node in (*region.around, *region.declared)}
    for item in region.items:
        for node in walk(item):
            target = changed_by(node)
            if target is None or isinstance(target, c_ast.ID):
                continue
            name = base_name(target)
            fields = hoisting.fields.get(name)
            if fields is not None and _first_member(target) in (None, *fields):
                return False
            if name not in types or has_bytes(types[name]):
                return False
    return True


def _first_member(node: c_ast.Node) -> str | None:
    """Return ``m`` of ``p->m``, ``p->m[i]`` or ``p->m.n``; None for other elements."""
    while isinstance(node, c_ast.ArrayRef | c_ast.StructRef | c_ast.UnaryOp):
        inner = node.expr if isinstance(node, c_ast.UnaryOp) else node.name
        if isinstance(node, c_ast.StructRef) and isinstance(inner, c_ast.ID):
            return str(node.field.name)
        node = inner
    return None


@dataclass
class _Hoisting:
    """Rewriting of one region.

    Attributes:
        declared: the variables around it.
        changed: the names that it changes or declares.
        struct_of: the struct of a type.
        found: the declarations of the new pointers, by their values.
        fields: the members that are such values, by the variables that lead to the structs.
        has_rows: whether one of them is an element of an array of pointers.
    """

    declared: Mapping[str, c_ast.Decl]
    changed: set[str]
    struct_of: StructOf
    names: Names
    found: dict[str, c_ast.Decl] = field(default_factory=dict)
    fields: dict[str, set[str]] = field(default_factory=dict)
    has_rows: bool = False

    def rewritten(self, node: c_ast.Node, loops: tuple[c_ast.Node | None, ...]) -> c_ast.Node:
        """Rewrite a node inside loops; None among them stands for a condition."""
        match node:
            case c_ast.For():
                body = self.rewritten(node.stmt, (*loops, node))
                parts = [part and self.rewritten(part, loops) for part in (node.init, node.cond)]
                return c_ast.For(*parts, node.next, body, node.coord)
            case c_ast.If() | c_ast.TernaryOp() | c_ast.While() | c_ast.DoWhile():
                return mapped(node, lambda child: self.rewritten(child, (*loops, None)))
            case c_ast.BinaryOp(op="&&" | "||"):
                return mapped(node, lambda child: self.rewritten(child, (*loops, None)))
            case c_ast.ArrayRef(name=c_ast.ID(name=name)) if name in self.declared:
                row = self._row(node, loops)
                if row is not None:
                    return row
            case c_ast.StructRef(name=c_ast.ID(name=name), type="->") if name in self.declared:
                member = self._member(node)
                if member is not None:
                    return member
        return mapped(node, lambda child: self.rewritten(child, loops))

    def _row(self, node: c_ast.ArrayRef, loops: tuple[c_ast.Node | None, ...]) -> c_ast.Node | None:
        type_ = self.declared[node.name.name].type
        if not isinstance(type_, c_ast.PtrDecl | c_ast.ArrayDecl):
            return None
        element = type_.type
        if not isinstance(element, c_ast.PtrDecl) or set(names_in(node)) & self.changed:
            return None
        guards = _guards(loops)
        if guards is None or any(isinstance(part, c_ast.FuncCall) for part in walk(node)):
            return None
        self.has_rows = True
        self.fields.setdefault(node.name.name, set())
        return self._pointer(node, element, guards)

    def _member(self, node: c_ast.StructRef) -> c_ast.Node | None:
        base = node.name.name
        type_ = self.declared[base].type
        struct = self.struct_of(type_.type) if isinstance(type_, c_ast.PtrDecl) else None
        if struct is None or base in self.changed:
            return None
        for member in struct.decls or ():
            if getattr(member, "name", None) != node.field.name:
                continue
            pointed = member.type.type if isinstance(member.type, c_ast.PtrDecl) else None
            if pointed is None or self.struct_of(pointed) is None:
                return None
            self.fields.setdefault(base, set()).add(node.field.name)
            return self._pointer(node, member.type, [node.name])
        return None

    def _pointer(
        self, node: c_ast.Node, type_: c_ast.PtrDecl, guards: Sequence[c_ast.Node]
    ) -> c_ast.Node:
        text = c_text(node)
        if text not in self.found:
            name = self.names.fresh("_".join([*names_in(node)])[:40])
            if not isinstance(type_.type, c_ast.TypeDecl):
                return node
            value = node
            for guard in reversed(guards):
                value = c_expression("guard ? value : 0", node, guard=guard, value=value)
            self.found[text] = variable(name, type_, value, node)
        return StandIn(self.found[text].name, node)


def _guards(loops: tuple[c_ast.Node | None, ...]) -> list[c_ast.Node] | None:
    """Return the conditions under which the innermost of some loops runs; None if unknown.

    The bounds of each loop are those of the first iterations of the loops around it, so they must
    not depend on them.
    """
    guards: list[c_ast.Node] = []
    outer: set[str] = set()
    for loop in loops:
        start = None if loop is None else loop_start(loop)
        if loop is None or start is None or loop.cond is None:
            return None
        name, first = start
        parts = (first, loop.cond)
        is_plain = not any(
            changed_by(node) is not None or isinstance(node, c_ast.FuncCall)
            for part in parts
            for node in walk(part)
        )
        if not is_plain or {*names_in(first), *names_in(loop.cond)} & outer:
            return None
        inside = [
            node for node in walk(loop.stmt) if isinstance(node, c_ast.Break | c_ast.Continue)
        ]
        if inside or base_name(first) == name:
            return None
        guards.append(substituted(loop.cond, {name: first}))
        outer |= {name, *changed_names(loop.stmt)}
    return guards or None


def _changed(region: Region) -> Iterator[str]:
    """Yield the names that a region changes or declares."""
    for target in map(changed_by, region.nodes):
        if isinstance(target, c_ast.ID):
            yield target.name
    yield from (node.name for node in region.declared)
