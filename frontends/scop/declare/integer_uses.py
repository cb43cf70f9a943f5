"""Find where the integers outside a region are used: in bounds and subscripts, or in conditions.

Affine bounds, subscripts and conditions are computed with signed 64-bit integers, so an unsigned
integer of at least 2**63 would count as negative there. An unsigned integer that only conditions
and values use is therefore data of the kernel: data is compared in its own type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from pycparser import c_ast

from polysched.frontends.scop.source.trees import names_in, walk


class _Place(Enum):
    VALUE = "value"
    CONDITION = "condition"
    SIZE = "size"


@dataclass(frozen=True)
class IntegerUses:
    """Names by the places that they occur in.

    Attributes:
        in_conditions: names in the conditions of ``if`` and ``?:``.
        in_sizes: names in loop headers, subscripts, lengths of arrays and arguments of calls.

    The first value of a variable has the places of the variable.
    """

    in_conditions: frozenset[str]
    in_sizes: frozenset[str]

    @property
    def only_compared(self) -> frozenset[str]:
        """The names that conditions use, and no bound or subscript."""
        return self.in_conditions - self.in_sizes

    @property
    def affine(self) -> frozenset[str]:
        """The names that are not used by values alone."""
        return self.in_conditions | self.in_sizes


def integer_uses(items: tuple[c_ast.Node, ...]) -> IntegerUses:
    """Collect the places of all names in statements."""
    found = [use for item in items for use in _uses(item, _Place.VALUE)]
    first = [
        (node.name, set(names_in(node.init)))
        for item in items
        for node in walk(item)
        if isinstance(node, c_ast.Decl) and node.init is not None
    ]

    def names_at(wanted: _Place) -> frozenset[str]:
        names = {name for name, place in found if place is wanted}
        while more := {n for name, used in first if name in names for n in used} - names:
            names |= more
        return frozenset(names)

    return IntegerUses(names_at(_Place.CONDITION), names_at(_Place.SIZE))


def _uses(node: c_ast.Node, place: _Place) -> Iterator[tuple[str, _Place]]:
    if isinstance(node, c_ast.ID):
        yield node.name, place
    for slot, child in node.children():
        yield from _uses(child, place if place is _Place.SIZE else _place(node, slot, place))


def _place(node: c_ast.Node, slot: str, place: _Place) -> _Place:
    """Return the place of a child."""
    match node, slot:
        case c_ast.For() | c_ast.While() | c_ast.DoWhile(), "stmt":
            return place
        case c_ast.Decl(type=c_ast.PtrDecl()), "init":
            return _Place.SIZE
        case (c_ast.ArrayRef(name=c_ast.ID()), "name") | (c_ast.Decl(), "init"):
            return place
        case c_ast.UnaryOp(op="*" | "&"), _:
            return _Place.SIZE
        case (
            (
                c_ast.For()
                | c_ast.While()
                | c_ast.DoWhile()
                | c_ast.ArrayRef()
                | c_ast.Decl()
                | c_ast.FuncCall()
            ),
            _,
        ):
            return _Place.SIZE
        case c_ast.If() | c_ast.TernaryOp(), "cond":
            return _Place.CONDITION
    return place
