"""Row lengths in the subscripts of arrays, as in ``a[y * w + x]``, and values of locals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import TypeAlias

from pycparser import c_ast

from polysched.frontends.scop.rewrites.size_values import c_text
from polysched.frontends.scop.rewrites.usage import base_name, changed_by, pointed_name
from polysched.frontends.scop.source.trees import names_in, walk
from polysched.frontends.scop.types.polynomials import Monomial, Polynomial, plus, times
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Index, Parameter

LONG = frozenset({"long", "size_t", "ptrdiff_t", "ssize_t", "int64_t", "uint64_t"})
"""Words of the types of 64 bits."""

Strides: TypeAlias = Sequence[tuple[Monomial, int]]
"""Distances of the elements of an array along its dimensions but the last, largest first."""


@dataclass(frozen=True)
class RowLengths:
    """Row lengths of the arrays in the statements of a region.

    Attributes:
        items: the statements.
        sizes: the types of the integers outside the region that it does not change.
        element_bytes: the sizes of the elements of arrays of one dimension.
    """

    items: Sequence[c_ast.Node]
    sizes: Mapping[str, DType]
    element_bytes: Mapping[str, int]

    @cached_property
    def nodes(self) -> list[c_ast.Node]:
        """The nodes of all statements."""
        return [node for item in self.items for node in walk(item)]

    @cached_property
    def types(self) -> Mapping[str, list[set[str]]]:
        """The words of the types of the local numbers, for each declaration."""
        found: dict[str, list[set[str]]] = {}
        for node in self.nodes:
            if isinstance(node, c_ast.Decl):
                found.setdefault(node.name, []).append(_words(node.type))
        return found

    @cached_property
    def _values(self) -> Mapping[str, c_ast.Node]:
        """The values of the local variables that are declared and set once."""
        found: dict[str, list[c_ast.Node | None]] = {}
        for node in self.nodes:
            if isinstance(node, c_ast.Decl) and node.init is not None:
                found.setdefault(node.name, []).append(node.init)
            elif (target := changed_by(node)) is not None:
                is_set = isinstance(node, c_ast.Assignment) and node.op == "="
                value = node.rvalue if is_set and isinstance(target, c_ast.ID) else None
                found.setdefault(base_name(target), []).append(value)
        return {
            name: values[0]
            for name, values in found.items()
            if len(self.types.get(name, ())) == len(values) == 1 and values[0] is not None
        }

    @cached_property
    def offsets(self) -> Mapping[str, list[Polynomial]]:
        """The subscripts of each array, and the steps of pointers, that multiply by sizes."""
        found: dict[str, list[Polynomial]] = {}
        for node in self.nodes:
            match node:
                case (
                    c_ast.ArrayRef(name=c_ast.ID(name=array), subscript=offset)
                    | c_ast.BinaryOp(op="+", left=c_ast.ID(name=array), right=offset)
                ) if array in self.element_bytes:
                    found.setdefault(self._array(array), []).append(self.polynomial(offset))
                case c_ast.Assignment(op="+=", lvalue=c_ast.ID(name=array), rvalue=step) if (
                    array in self.element_bytes
                ):
                    moves: Polynomial = {(Index(f"moves of {array}"),): 1}
                    distance = times(self.polynomial(step), moves)
                    found.setdefault(self._array(array), []).append(distance)
        return {name: offsets for name, offsets in found.items() if _strides(offsets)}

    def _array(self, pointer: str) -> str:
        """Return the array that a local pointer leads into."""
        seen = set[str]()
        while pointer in self._values and pointer not in seen:
            seen.add(pointer)
            pointer = pointed_name(self._values[pointer]) or pointer
        return pointer

    def polynomial(self, node: c_ast.Node, depth: int = 0) -> Polynomial:
        """Return an integer as a polynomial; any part but a sum or product of names is an atom."""
        match node:
            case c_ast.ID(name=name) if name in self.sizes:
                return {(Parameter(name),): 1}
            case c_ast.ID(name=name) if name in self._values and depth < 8:
                return self.polynomial(self._values[name], depth + 1)
            case c_ast.Constant(type="int", value=text) if text.isdigit():
                return number_of(int(text))
            case c_ast.Cast(expr=operand):
                return self.polynomial(operand, depth)
            case c_ast.BinaryOp(op="+" | "-" as operator, left=left, right=right):
                sides = self.polynomial(left, depth), self.polynomial(right, depth)
                return plus(*sides, 1 if operator == "+" else -1)
            case c_ast.BinaryOp(op="*", left=left, right=right):
                return times(self.polynomial(left, depth), self.polynomial(right, depth))
        return {(Index(c_text(node)),): 1}

    def strides(self, pointer: str) -> Strides:
        """Return the strides of the array that a pointer leads into; none if it has no rows."""
        return _strides(self.offsets.get(self._array(pointer), ()))

    def is_exact(self, node: c_ast.Node) -> bool:
        """Whether a product of sizes is neither wrapped around nor cut off."""
        for inner in walk(node):
            match inner:
                case c_ast.Cast(to_type=type_, expr=value):
                    words = _words(type_.type)
                case c_ast.ID(name=name) if name in self._values:
                    words, value = self.types[name][0], self._values[name]
                case _:
                    continue
            if not self.is_exact(value) or not (words & LONG or self._is_int(words, value)):
                return False
        return True

    def _is_int(self, words: set[str], value: c_ast.Node) -> bool:
        """Whether a value of type int is stored as such, so that it does not overflow."""
        names = set(names_in(value)) & set(self.sizes)
        is_narrow = all(self.sizes[name].bits <= 32 for name in names)
        is_cast = any(isinstance(inner, c_ast.Cast) for inner in walk(value))
        is_local = any(name in self._values for name in names_in(value))
        return words == {"int"} and is_narrow and not is_cast and not is_local


def _strides(offsets: Iterable[Polynomial]) -> Strides:
    """Return the products of sizes that something else is multiplied by."""
    factors: dict[Monomial, int] = {}
    for offset in offsets:
        for monomial, coefficient in offset.items():
            sizes = tuple(atom for atom in monomial if isinstance(atom, Parameter))
            if sizes and len(monomial) == len(sizes) + 1:
                factors[sizes] = gcd(factors.get(sizes, 0), coefficient)
    return sorted(factors.items(), key=lambda item: (-len(item[0]), str(item[0])))


def _words(type_: c_ast.Node) -> set[str]:
    """Return the words of the type of a number; none for other types."""
    return set(getattr(getattr(type_, "type", None), "names", ()))


def number_of(value: int) -> Polynomial:
    """Return a constant polynomial."""
    return {(): value} if value else {}
