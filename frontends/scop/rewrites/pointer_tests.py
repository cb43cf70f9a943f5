"""Turn the questions whether a pointer is null into sizes, which the entry computes.

::

    if (!x || n <= 0) return -1;             x_given = x != 0;
    acc = bias ? bias[c] : 0;                if (x_given <= 0 || n <= 0) return -1;

A pointer that only moves, as in ``p++``, keeps the answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from pycparser import c_ast

from polysched.frontends.scop.rewrites.region import Region
from polysched.frontends.scop.rewrites.size_values import PointerTest
from polysched.frontends.scop.rewrites.usage import changed_by
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.trees import StandIn, mapped, names_in, walk

_NULL = ("NULL", "nullptr")


def with_pointer_tests(region: Region, pointers: Collection[str], names: Names) -> Region:
    """Replace the tests of pointers in a region by comparisons of sizes.

    Args:
        region: the region, without structs.
        pointers: the pointers from outside the region.
    """
    nodes = [node for item in region.items for node in walk(item)]
    other = {node.name for node in nodes if isinstance(node, c_ast.Decl)}
    for node in nodes:
        target = changed_by(node) if isinstance(node, c_ast.Assignment) else None
        if isinstance(target, c_ast.ID) and node.op == "=":
            other.add(target.name)
        elif isinstance(node, c_ast.UnaryOp) and node.op == "&" and isinstance(node.expr, c_ast.ID):
            other.add(node.expr.name)
    texts = {
        name: region.members[name].place.pointer_text if name in region.members else name
        for name in pointers
        if name not in other
    }
    tests = _Tests(texts, names)
    items = tuple(map(tests.replaced, region.items))
    left = {name for item in items for name in names_in(item)}
    unread = {test.pointer for test in tests.found.values()} & set(region.members) - left
    if unread:  # the entry reads only the members that are accessed
        return with_pointer_tests(region, [name for name in texts if name not in unread], names)
    return replace(region, items=items, derived={**region.derived, **tests.found})


@dataclass(frozen=True)
class _Tests:
    """Replacement of the tests of some pointers, given with their text in C."""

    pointers: Mapping[str, str]
    names: Names
    found: dict[str, PointerTest] = field(default_factory=dict)
    _known: dict[str, str] = field(default_factory=dict)

    def replaced(self, node: c_ast.Node) -> c_ast.Node:
        """Rewrite the tests in a statement or value."""
        match node:
            case c_ast.BinaryOp(op="==" | "!=" as operator, left=left, right=right):
                for own, null in ((left, right), (right, left)):
                    if self._is_pointer(own) and _is_null(null):
                        return self._test(own, node, is_null=operator == "==")
            case c_ast.BinaryOp(op="&&" | "||" as operator, left=left, right=right):
                return c_ast.BinaryOp(operator, self._holds(left), self._holds(right), node.coord)
            case c_ast.UnaryOp(op="!", expr=own) if self._is_pointer(own):
                return self._test(own, node, is_null=True)
            case c_ast.If() | c_ast.TernaryOp() if self._is_pointer(node.cond):
                test = self._test(node.cond, node.cond, is_null=False)
                sides = (node.iftrue, node.iffalse)
                return type(node)(
                    test, *(side and self.replaced(side) for side in sides), node.coord
                )
        return mapped(node, self.replaced)

    def _holds(self, node: c_ast.Node) -> c_ast.Node:
        if self._is_pointer(node):
            return self._test(node, node, is_null=False)
        return self.replaced(node)

    def _is_pointer(self, node: c_ast.Node) -> bool:
        return isinstance(node, c_ast.ID) and node.name in self.pointers

    def _test(self, pointer: c_ast.ID, node: c_ast.Node, *, is_null: bool) -> c_ast.Node:
        if pointer.name not in self._known:
            name = self._known[pointer.name] = self.names.fresh(f"{pointer.name}_given")
            self.found[name] = PointerTest(pointer, pointer.name, self.pointers[pointer.name])
        size = StandIn(self._known[pointer.name], pointer)
        zero = c_ast.Constant("int", "0", node.coord)
        return c_ast.BinaryOp("<=" if is_null else ">", size, zero, node.coord)


def _is_null(node: c_ast.Node) -> bool:
    if isinstance(node, c_ast.Cast):
        return _is_null(node.expr)
    is_zero = isinstance(node, c_ast.Constant) and node.value == "0"
    return is_zero or (isinstance(node, c_ast.ID) and node.name in _NULL)
