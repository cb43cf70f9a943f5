"""Memory layouts of structs: the numbers in a struct, with their offsets and types.

::

    struct { float pos[3]; int alive; }     pos: float[3] at byte 0, alive: int at byte 12, 16 bytes

The layout is that of 64-bit Linux. Structs inside structs are flattened; a member that is not a
number, an array of numbers or a pointer to numbers has no name that code may use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from operator import add, floordiv, mul, sub

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.source.parse import ParsedSource
from polysched.frontends.scop.types.c_types import CType, Typedefs, declared_type

_POINTER_BYTES = 8
_ENUMERATION_BYTES = 4
_PACKED = re.compile(r"\bpacked\b|\baligned\b|\b_Alignas\b|\balignas\b|#\s*pragma\s+pack")
_OPERATORS = {"+": add, "-": sub, "*": mul, "/": floordiv}


@dataclass(frozen=True)
class Member:
    """Number, array of numbers or pointer to numbers inside a struct.

    Attributes:
        path: the names of the member and of the members around it, outermost first.
        node: its type in the syntax tree: of an element, or of the pointer.
        type: its type; a pointer has the dimensions of the array that it points to.
        offset: its distance from the start of the struct, in bytes.
        dims: the extents of the arrays around it, outermost first.
        steps: the distances of consecutive elements of these arrays, in bytes.
        ranks: the number of these arrays that each name in the path declares.
    """

    path: tuple[str, ...]
    node: c_ast.Node
    type: CType
    offset: int
    dims: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    ranks: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The path in C, to the first element of every array of structs."""
        *ranks, _ = self.ranks
        outer = zip(self.path[:-1], ranks, strict=True)
        return "".join(f"{name}{'[0]' * rank}." for name, rank in outer) + self.path[-1]

    @property
    def bytes(self) -> int:
        """Size of the number, or of the target of the pointer."""
        assert self.type.dtype is not None
        return self.type.dtype.bytes

    @property
    def is_pointer(self) -> bool:
        """Whether the numbers lie outside the struct."""
        return self.type.is_pointer


@dataclass(frozen=True)
class Layout:
    """Members of a struct and its size and alignment in bytes."""

    members: tuple[Member, ...]
    size: int
    alignment: int

    @property
    def number(self) -> Member | None:
        """An element of an array of such structs that is seen as an array of numbers.

        None if the members are no numbers of one type, without gaps; a single number is itself.
        """
        if any(member.is_pointer for member in self.members):
            return None
        types = {member.type.dtype for member in self.members}
        count = sum(prod(member.dims) for member in self.members)
        if len(types) != 1 or count < 2 or self.size != count * self.members[0].bytes:
            return None
        return replace(self.members[0], path=("members",), dims=(), steps=(), ranks=(0,))


class Layouts:
    """Finds the structs that types name."""

    def __init__(self, parsed: ParsedSource, typedefs: Typedefs) -> None:
        self._source_map, self._typedefs = parsed.source_map, typedefs
        self._tags = {node.name: node for node in _structs(parsed.tree) if node.decls is not None}
        lines = (line for file in parsed.source.originals.values() for line in file)
        self._packed = next((line for line in lines if _PACKED.search(line)), None)

    def struct(self, type_: c_ast.Node) -> c_ast.Struct | None:
        """Return the struct that a type without dimensions is, or None."""
        match type_:
            case c_ast.TypeDecl(type=inner):
                return self.struct(inner)
            case c_ast.IdentifierType(names=[name]) if name in self._typedefs:
                return self.struct(self._typedefs[name].type)
            case c_ast.Struct(name=name, decls=None):
                return self._tags.get(name)
            case c_ast.Struct():
                return type_
        return None

    def member_type(self, type_: c_ast.Node, path: tuple[str, ...]) -> CType | None:
        """Return the type of a member of the struct that a type is or points to; None if it has
        none of this path that is a number, or an array or pointer of numbers.
        """
        inner = type_.type if isinstance(type_, c_ast.PtrDecl) else type_
        struct = self.struct(inner)
        members = () if struct is None else self.layout(struct, inner).members
        found = next((member for member in members if member.path == path), None)
        return None if found is None or found.dims else found.type

    def layout(self, struct: c_ast.Struct, at: c_ast.Node) -> Layout:
        """Return the layout of a struct.

        Raises:
            FrontendError: a member has a type of unknown size, or the file changes layouts.
        """
        if self._packed is not None:
            raise self._source_map.error(
                at,
                f"a struct in a file that packs or aligns types ('{self._packed.strip()}'); "
                "expected structs of the usual layout",
            )
        members: list[Member] = []
        end, alignment = 0, 1
        for node in struct.decls or ():
            if not isinstance(node, c_ast.Decl) or node.bitsize is not None:
                raise self._source_map.error(at, "a struct with bit fields; expected numbers")
            inner, size, least = self._member(node.type, at)
            offset = -(-end // least) * least
            members += [
                _named(replace(member, offset=offset + member.offset), node.name)
                for member in inner
            ]
            end, alignment = offset + size, max(alignment, least)
        return Layout(tuple(members), -(-end // alignment) * alignment, alignment)

    def _named(self, type_: c_ast.Node) -> c_ast.Node | None:
        """Return the array, pointer or enumeration that a typedef names; None for others."""
        match type_:
            case c_ast.TypeDecl(type=c_ast.IdentifierType(names=[name])) if name in self._typedefs:
                meaning = self._typedefs[name].type
                is_enum = isinstance(meaning, c_ast.TypeDecl) and isinstance(
                    meaning.type, c_ast.Enum | c_ast.IdentifierType
                )
                is_other = isinstance(meaning, c_ast.ArrayDecl | c_ast.PtrDecl)
                return meaning if is_other or is_enum else None
        return None

    def _member(self, type_: c_ast.Node, at: c_ast.Node) -> tuple[list[Member], int, int]:
        """Return the numbers in a member of this type, its size and its alignment."""
        struct = self.struct(type_)
        if struct is not None:
            layout = self.layout(struct, at)
            return list(layout.members), layout.size, layout.alignment
        if isinstance(type_, c_ast.ArrayDecl):
            count = _number(type_.dim)
            if count is None:
                raise self._source_map.error(
                    at, "a struct with an array of unknown extent; expected an integer literal"
                )
            inner, size, least = self._member(type_.type, at)
            arrays = [
                replace(member, dims=(count, *member.dims), steps=(size, *member.steps))
                for member in inner
            ]
            return arrays, count * size, least
        named = self._named(type_)
        if named is not None:
            return self._member(named, at)
        try:
            ctype = declared_type(type_, self._typedefs, self._source_map, at)
        except FrontendError:
            if isinstance(type_, c_ast.PtrDecl):
                return [], _POINTER_BYTES, _POINTER_BYTES
            if isinstance(type_, c_ast.TypeDecl) and isinstance(type_.type, c_ast.Enum):
                return [], _ENUMERATION_BYTES, _ENUMERATION_BYTES
            raise
        if ctype.is_pointer:
            members = [Member((), type_, ctype, 0)] if ctype.dtype is not None else []
            return members, _POINTER_BYTES, _POINTER_BYTES
        assert ctype.dtype is not None
        return [Member((), type_, ctype, 0)], ctype.dtype.bytes, ctype.dtype.bytes


def _named(member: Member, name: str | None) -> Member:
    """Return a member under the name of a member around it; anonymous structs have none."""
    if name is None:
        return member
    rank = len(member.dims) - sum(member.ranks)
    return replace(member, path=(name, *member.path), ranks=(rank, *member.ranks))


def _structs(node: c_ast.Node) -> Iterator[c_ast.Struct]:
    if isinstance(node, c_ast.Struct):
        yield node
    for _, child in node.children():
        if not isinstance(child, c_ast.FuncDef):
            yield from _structs(child)


def _number(node: c_ast.Node | None) -> int | None:
    """Return the value of an expression of integer literals; None for any other."""
    match node:
        case c_ast.Constant(value=text) if text.isdigit():
            return int(text)
        case c_ast.BinaryOp(op=operator, left=left, right=right) if operator in _OPERATORS:
            values = _number(left), _number(right)
            if values[0] is None or not values[1]:
                return None
            return int(_OPERATORS[operator](values[0], values[1]))
    return None
