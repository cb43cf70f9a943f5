"""Run through all elements of an image row by row, if other subscripts of the image have rows.

::

    for (i = 0; i < w * h; i++) a[i] = 0;     for (row = 0; row < h; row++)
                                                  for (column = 0; column < w; column++)
                                                      a[row * w + column] = 0;
    memset(a, 0, (size_t)w * h * 4);          for (row = 0; row < h; row++)
                                                  memset(a + row * w, 0, w * 4);

``a[y * w + x]`` elsewhere says that the rows have ``w`` elements. Two negative sizes have a
positive product, but no rows, so a :class:`Factor` excludes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from pycparser import c_ast

from polysched.frontends.scop.rewrites.derived import factors_of
from polysched.frontends.scop.rewrites.row_lengths import LONG, RowLengths, Strides, number_of
from polysched.frontends.scop.rewrites.usage import FILLS, base_name, changed_by, pointed_name
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.trees import Factor, StandIn, is_zero, loop_start, mapped, walk
from polysched.frontends.scop.types.polynomials import Polynomial, divided, times
from polysched.ir.expr.dtypes import u32
from polysched.ir.expr.expressions import Index, Parameter

_LEAVING = (c_ast.Break, c_ast.Return, c_ast.Goto, c_ast.Label)
_UNSIGNED = frozenset({"unsigned", "size_t", "uint64_t", "uint32_t"})
_COUNTERS = frozenset({"int", "signed", "int32_t"}) | _UNSIGNED | LONG


@dataclass(frozen=True)
class FlatRanges:
    """Rewriting of the ranges of elements in the statements of a region.

    Attributes:
        rows: the row lengths of the arrays in the statements.
    """

    rows: RowLengths
    names: Names

    def rewritten(self) -> tuple[c_ast.Node, ...]:
        """Return the statements with rows."""
        return tuple(map(self._rewritten, self.rows.items))

    def _rewritten(self, node: c_ast.Node) -> c_ast.Node:
        match node:
            case c_ast.FuncCall(
                name=c_ast.ID(name=name), args=c_ast.ExprList(exprs=[target, value, size])
            ) if name in FILLS - {"memmove"}:
                return self._fill(node, target, value, size) or node
            case c_ast.For():
                return self._loop(node) or mapped(node, self._rewritten)
        return mapped(node, self._rewritten)

    def _fill(
        self, node: c_ast.FuncCall, target: c_ast.Node, value: c_ast.Node, size: c_ast.Node
    ) -> c_ast.Node | None:
        pointers = [target] if node.name.name == "memset" else [target, value]
        arrays = [
            pointed_name(pointer.expr if isinstance(pointer, c_ast.Cast) else pointer)
            for pointer in pointers
        ]
        bytes_ = self.rows.element_bytes.get(arrays[0])
        factors = factors_of(size)
        lengths = [
            factor
            for factor in factors
            if isinstance(factor, c_ast.UnaryOp) and factor.op == "sizeof"
        ]
        others = [self.rows.polynomial(factor) for factor in factors if factor not in lengths]
        if bytes_ is None or len(lengths) > 1 or not all(map(self.rows.is_exact, factors)):
            return None
        count = reduce(times, others, number_of(1))
        if not lengths:
            count, rest = divided(count, (), bytes_)
            if rest:
                return None
        strides = [self.rows.strides(name) for name in arrays]
        nest = self._nest(count, strides, size, scale=bytes_)
        if nest is None:
            return None
        moved = [_moved(pointer, nest.row) for pointer in pointers]
        element = lengths[0] if lengths else c_ast.Constant("int", str(bytes_), size.coord)
        row = c_ast.BinaryOp("*", nest.length, element, size.coord)
        arguments = [moved[0], value if len(moved) == 1 else moved[1], row]
        call = c_ast.FuncCall(node.name, c_ast.ExprList(arguments, node.coord), node.coord)
        return nest.around(call)

    def _loop(self, node: c_ast.For) -> c_ast.Node | None:
        start = loop_start(node)
        match node.cond, node.next:
            case (
                c_ast.BinaryOp(op="<", left=c_ast.ID(name=name), right=end),
                c_ast.UnaryOp(op="p++" | "++", expr=c_ast.ID(name=moved)),
            ) if start is not None and start[0] == name == moved and is_zero(start[1]):
                pass
            case _:
                return None
        inside = list(walk(node.stmt))
        words = set[str]().union(*self.rows.types.get(name, [{name}]))
        refs = [
            (inner.name.name, self.rows.polynomial(inner.subscript))
            for inner in inside
            if isinstance(inner, c_ast.ArrayRef) and isinstance(inner.name, c_ast.ID)
        ]
        if (
            not self.rows.is_exact(end)
            or not self._is_inside(node, name)
            or not _only_in_subscripts(node.stmt, name)
            or any(isinstance(inner, _LEAVING) for inner in inside)
            or any(base_name(changed_by(inner) or end) == name for inner in inside)
            or any(isinstance(inner, c_ast.Decl) and inner.name == name for inner in inside)
            or not words <= _COUNTERS
        ):
            return None
        strides = []
        for array, offset in refs:
            factor = offset.get((Index(name),), 0)
            found = self.rows.strides(array)
            if factor > 0 and all(number % factor == 0 for _, number in found):
                strides.append([(monomial, number // factor) for monomial, number in found])
        nest = self._nest(
            self.rows.polynomial(end), strides, end, is_unsigned=bool(words & _UNSIGNED)
        )
        if nest is None:
            return None
        place = c_ast.ID(self.names.fresh("column"), node.coord)
        value = c_ast.BinaryOp("+", nest.row, place, node.coord)
        own = self.names.fresh(f"flat_{name}")
        body = c_ast.Compound([_long(own, value), _renamed(node.stmt, name, own)], node.coord)
        return nest.around(_counted(place, nest.length, body))

    def _nest(
        self,
        count: Polynomial,
        candidates: Iterable[Strides],
        at: c_ast.Node,
        *,
        is_unsigned: bool = False,
        scale: int = 1,
    ) -> _Nest | None:
        """Divide a number of elements by the strides of an array."""
        ((monomial, number), *others) = count.items() or [((), 0)]
        if (
            others
            or number < 1
            or len(monomial) < 2
            or not all(isinstance(factor, Parameter) for factor in monomial)
        ):
            return None
        has_32_bits = any(self.rows.sizes[str(factor)] == u32 for factor in monomial)
        greatest = int(((2**32 - 1) / (number * scale)) ** (1 / len(monomial)))

        def factor_of(extent: Polynomial) -> Factor:
            ((own, by),) = extent.items()
            limit = greatest ** len(own) * by if has_32_bits else None
            return Factor(_product(extent, at), at, limit)

        for found in candidates:
            strides = [stride for stride in found if stride != (monomial, number)]
            extents = []
            rest = count
            for stride, factor in strides:
                whole, left_over = divided(rest, stride, factor)
                if left_over or len(whole) != 1:
                    break
                extents.append(whole)
                rest = {stride: factor}
            else:
                if strides:
                    rows = [c_ast.ID(self.names.fresh("row"), at.coord) for _ in extents]
                    is_checked = is_unsigned or has_32_bits
                    last = factor_of(rest) if is_checked else _product(rest, at)
                    bounds = list(map(factor_of, extents))
                    distances = [
                        _product({stride: by}, at, row)
                        for row, (stride, by) in zip(rows, strides, strict=True)
                    ]
                    return _Nest(rows, bounds, distances, last)
        return None

    def _is_inside(self, node: c_ast.For, name: str) -> bool:
        """Whether only loops that set a variable themselves use it."""
        if isinstance(node.init, c_ast.DeclList):
            return True
        loops = [node for node in self.rows.nodes if isinstance(node, c_ast.For)]
        own = {id(inner) for loop in loops if (start := loop_start(loop)) and start[0] == name
               for inner in walk(loop)}  # fmt: skip
        return name in self.rows.types and all(
            id(node) in own
            for node in self.rows.nodes
            if isinstance(node, c_ast.ID) and node.name == name
        )


@dataclass(frozen=True)
class _Nest:
    """Loops over the rows of an image.

    Attributes:
        rows: the variables of the loops.
        bounds: their bounds.
        distances: the elements that each loop has passed.
        length: the number of elements of a row.
    """

    rows: Sequence[c_ast.ID]
    bounds: Sequence[c_ast.Node]
    distances: Sequence[c_ast.Node]
    length: c_ast.Node

    @property
    def row(self) -> c_ast.Node:
        """The first element of a row."""
        return reduce(
            lambda total, other: c_ast.BinaryOp("+", total, other, total.coord), self.distances
        )

    def around(self, node: c_ast.Node) -> c_ast.Node:
        """Put the loops around a statement."""
        for row, bound in reversed(list(zip(self.rows, self.bounds, strict=True))):
            node = _counted(row, bound, node)
        return node


def _product(polynomial: Polynomial, at: c_ast.Node, *first: c_ast.Node) -> c_ast.Node:
    """Return a product of sizes, and of a first factor, as a node."""
    ((monomial, factor),) = polynomial.items()
    factors = [*first, *(c_ast.ID(str(atom), at.coord) for atom in monomial)]
    if factor != 1 or not factors:
        factors.append(c_ast.Constant("int", str(factor), at.coord))
    return reduce(lambda product, other: c_ast.BinaryOp("*", product, other, at.coord), factors)


def _counted(variable: c_ast.ID, end: c_ast.Node, body: c_ast.Node) -> c_ast.For:
    coord = variable.coord
    start = _long(variable.name, c_ast.Constant("int", "0", coord))
    step = c_ast.UnaryOp("p++", variable, coord)
    bound = c_ast.BinaryOp("<", variable, end, coord)
    return c_ast.For(c_ast.DeclList([start], coord), bound, step, body, coord)


def _long(name: str, value: c_ast.Node) -> c_ast.Decl:
    type_ = c_ast.TypeDecl(name, [], None, c_ast.IdentifierType(["long"]), value.coord)
    return c_ast.Decl(name, [], [], [], [], type_, value, None, value.coord)


def _renamed(node: c_ast.Node, name: str, new: str) -> c_ast.Node:
    if isinstance(node, c_ast.ID):
        return StandIn(new, node) if node.name == name else node
    return mapped(node, lambda child: _renamed(child, name, new))


def _moved(pointer: c_ast.Node, by: c_ast.Node) -> c_ast.Node:
    """Return a pointer that is moved by a number of elements."""
    match pointer:
        case c_ast.Cast(expr=inner):
            return _moved(inner, by)
        case c_ast.UnaryOp(op="&", expr=c_ast.ArrayRef(name=base, subscript=offset)):
            by = c_ast.BinaryOp("+", offset, by, pointer.coord)
        case c_ast.BinaryOp(op="+", left=base, right=offset):
            by = c_ast.BinaryOp("+", offset, by, pointer.coord)
        case base:
            pass
    return c_ast.BinaryOp("+", base, by, pointer.coord)


def _only_in_subscripts(node: c_ast.Node, name: str) -> bool:
    """Whether a variable only occurs in sums and products that are subscripts."""
    match node:
        case c_ast.ID():
            return bool(node.name != name)
        case c_ast.ArrayRef(name=array, subscript=subscript):
            inside: Iterator[c_ast.Node] = walk(subscript)
            is_plain = all(isinstance(part, c_ast.ID | c_ast.Constant | c_ast.BinaryOp)
                           and getattr(part, "op", "+") in "+-*" for part in inside)  # fmt: skip
            return _only_in_subscripts(array, name) and (
                is_plain or _only_in_subscripts(subscript, name)
            )
    return all(_only_in_subscripts(child, name) for _, child in node.children())
