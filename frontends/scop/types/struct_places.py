"""Places inside structs: variables of struct type, members, and expressions that lead to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul

from pycparser import c_ast

from polysched.frontends.scop.source.trees import mapped
from polysched.frontends.scop.types.layouts import Layout, Member


@dataclass(frozen=True)
class MemberPlace:
    """Place of a member in a struct that is declared outside the region.

    Attributes:
        base: the variable: a pointer to structs, a struct, or an array of structs.
        text: the member in C: an element, or the pointer.
        member: its place in the struct.
        size: the size of the struct in bytes.
        is_pointer: whether the base is a pointer.
        is_restrict: whether it is a restrict pointer.
        is_indexed: whether the variable leads to several structs, so that the first dimension of
            the member's array counts them.
    """

    base: str
    text: str
    member: Member
    size: int
    is_pointer: bool
    is_restrict: bool
    is_indexed: bool

    @property
    def pointer_text(self) -> str:
        """The member, a pointer, in C; null if there is no struct."""
        return f"({self.base} ? {self.text} : 0)" if self.is_pointer else self.text

    @property
    def strides(self) -> tuple[int, ...] | None:
        """The distances of the elements along each dimension; None if nothing lies between them."""
        steps = (*((self.size,) if self.is_indexed else ()), *self.member.steps)
        dtype = self.member.type.dtype
        assert dtype is not None
        dense = accumulate(reversed(self.member.dims), mul, initial=dtype.bytes)
        if [*reversed(steps)] == [*dense][: len(steps)]:
            return None
        return tuple(step // dtype.bytes for step in steps)


@dataclass(frozen=True)
class MemberVariable:
    """Variable that stands for a member, with its declaration."""

    declaration: c_ast.Decl
    place: MemberPlace


@dataclass(frozen=True)
class Base:
    """Variable of struct type.

    Attributes:
        node: its declaration.
        layout: of the struct.
        dims: the extents of an array of structs.
        is_pointer: whether it is a pointer to structs.
        is_local: whether the region declares it.
        qualifiers: ``const`` and ``restrict``, if they apply.
    """

    node: c_ast.Decl
    layout: Layout
    dims: tuple[c_ast.Node | None, ...]
    is_pointer: bool
    is_local: bool
    qualifiers: frozenset[str]

    @property
    def name(self) -> str:
        """The name in C."""
        name: str = self.node.name
        return name


@dataclass(frozen=True)
class Chain:
    """Expression that leads into a struct: its variable, subscripts and members so far."""

    base: Base
    subscripts: tuple[c_ast.Node, ...] = ()
    path: tuple[str, ...] = ()
    missing: int = 0
    is_address: bool = False


def members_under(chain: Chain) -> list[Member]:
    """Return the members in the struct that a chain leads to."""
    depth = len(chain.path)
    return [member for member in chain.base.layout.members if member.path[:depth] == chain.path]


def element_count(member: Member) -> int:
    """Return the number of elements of a member."""
    count = 1
    for extent in member.dims:
        count *= extent
    return count


def element_places(dims: tuple[int, ...]) -> Iterator[tuple[c_ast.Node, ...]]:
    """Yield the subscripts of each element of an array of these extents."""
    if not dims:
        yield ()
        return
    for number in range(dims[0]):
        for rest in element_places(dims[1:]):
            yield (literal_node(number), *rest)


def literal_node(number: int) -> c_ast.Constant:
    """Return an integer literal."""
    return c_ast.Constant("int", str(number))


def sum_node(left: c_ast.Node, right: c_ast.Node) -> c_ast.Node:
    """Return ``left + right``."""
    if isinstance(left, c_ast.Constant) and left.value == "0":
        return right
    return c_ast.BinaryOp("+", left, right, right.coord)


def array_type(
    element: c_ast.Node,
    name: str,
    dims: Sequence[c_ast.Node | None],
    quals: Sequence[str] = (),
) -> c_ast.Node:
    """Return the type of an array of numbers, for a declaration."""
    result: c_ast.Node = c_ast.TypeDecl(name, list(quals), None, element.type, None)
    for dim in reversed(dims):
        result = c_ast.ArrayDecl(result, dim, [])
    return result


def renamed_pointer(pointer: c_ast.Node, name: str) -> c_ast.Node:
    """Return the type of a pointer for a declaration of another name."""
    if isinstance(pointer, c_ast.TypeDecl):
        return c_ast.TypeDecl(name, pointer.quals, None, pointer.type, None)
    return mapped(pointer, lambda child: renamed_pointer(child, name))
