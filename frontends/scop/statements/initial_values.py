"""Array initializers, such as ``const float w[3] = {1, 2, 1};``, as assignments to elements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod

from pycparser import c_ast

from polysched.frontends.scop.affine.expressions import affine
from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.declare.variables import MOST_VALUES
from polysched.frontends.scop.types.c_types import CType


def completed(scope: Scope, node: c_ast.Decl, ctype: CType) -> CType:
    """Take the outermost extent of an array from its initializer if it is not declared."""
    outer, *inner = ctype.dims
    if outer is not None or node.init is None:
        return ctype
    counted = c_ast.Constant("int", str(len(_list(scope, node, node.init).exprs)), node.coord)
    return replace(ctype, dims=(counted, *inner))


def initial_values(
    scope: Scope, node: c_ast.Decl, ctype: CType
) -> Iterator[tuple[c_ast.ArrayRef, c_ast.Node]]:
    """Yield each element of an array with the expression of its initial value.

    Raises:
        FrontendError: there are too many initializers, or their form is not supported.
    """
    extents = []
    for dim in ctype.dims:
        extent = None if dim is None else affine(scope, dim).number
        if extent is None:
            raise scope.error(
                node, f"'{node.name}' has initial values; expected extents that are literals"
            )
        extents.append(extent)
    if prod(extents) > MOST_VALUES:
        raise scope.error(
            node,
            f"'{node.name}' has {prod(extents)} initial values, each a statement of the kernel; "
            f"expected at most {MOST_VALUES}: pass the array as a parameter",
        )
    zero = c_ast.Constant("int", "0", node.coord)
    values = _flat(scope, node, _list(scope, node, node.init), extents)
    values += [zero] * (prod(extents) - len(values))
    for position, value in zip(product(*map(range, extents)), values, strict=True):
        target: c_ast.Node = c_ast.ID(node.name, value.coord)
        for subscript in position:
            target = c_ast.ArrayRef(target, c_ast.Constant("int", str(subscript)), value.coord)
        yield target, value


def is_zero(init: c_ast.Node) -> bool:
    """Whether an initializer consists of literal zeros, so that all elements are 0."""
    if isinstance(init, c_ast.InitList):
        return all(map(is_zero, init.exprs))
    return isinstance(init, c_ast.Constant) and init.value in ("0", "0.0", "0.f", "0.0f")


def _list(scope: Scope, node: c_ast.Decl, init: c_ast.Node) -> c_ast.InitList:
    if not isinstance(init, c_ast.InitList):
        raise scope.error(node, f"'{node.name}' has initial values; expected {{1, 2, 3}}")
    return init


def _flat(
    scope: Scope, node: c_ast.Decl, init: c_ast.InitList, extents: list[int]
) -> list[c_ast.Node]:
    """Flatten the initializer of a (sub)array, row-major; trailing zeros may be missing."""
    _, *inner = extents
    values: list[c_ast.Node] = []
    has_lists = any(isinstance(value, c_ast.InitList) for value in init.exprs)
    for value in init.exprs:
        if isinstance(value, c_ast.NamedInitializer):
            raise scope.error(
                value, "a designated initializer; expected the initial values in order"
            )
        if isinstance(value, c_ast.InitList) != (has_lists and bool(inner)):
            raise scope.error(value, "expected braces around every row, or around no row")
        if isinstance(value, c_ast.InitList):
            row = _flat(scope, node, value, inner)
            zeros = [c_ast.Constant("int", "0", value.coord)] * (prod(inner) - len(row))
            values += [*row, *zeros]
        else:
            values.append(value)
    if len(values) > prod(extents):
        raise scope.error(node, f"'{node.name}' has more initial values than elements")
    return values
