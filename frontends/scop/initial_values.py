"""The values that an array is declared with: ``const float w[3] = {1, 2, 1};``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod

from pycparser import c_ast

from polysched.frontends.scop.affine import affine
from polysched.frontends.scop.scope import Scope
from polysched.frontends.scop.types import CType

MOST_VALUES = 64
"""Each one is a statement of the kernel."""


def completed(scope: Scope, node: c_ast.Decl, found: CType) -> CType:
    """The type of an array with initial values: its first extent need not be declared."""
    outer, *inner = found.dims
    if outer is not None or node.init is None:
        return found
    counted = c_ast.Constant("int", str(len(_list(scope, node, node.init).exprs)), node.coord)
    return replace(found, dims=(counted, *inner))


def initial_values(
    scope: Scope, node: c_ast.Decl, found: CType
) -> Iterator[tuple[c_ast.ArrayRef, c_ast.Node]]:
    """The elements of an array, each with the expression that gives its first value.

    Raises:
        FrontendError: there are too many, or they are written in a way that is not supported.
    """
    extents = []
    for dim in found.dims:
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
        for one in position:
            target = c_ast.ArrayRef(target, c_ast.Constant("int", str(one)), value.coord)
        yield target, value


def _list(scope: Scope, node: c_ast.Decl, init: c_ast.Node) -> c_ast.InitList:
    if not isinstance(init, c_ast.InitList):
        raise scope.error(node, f"'{node.name}' has initial values; expected {{1, 2, 3}}")
    return init


def _flat(
    scope: Scope, node: c_ast.Decl, init: c_ast.InitList, extents: list[int]
) -> list[c_ast.Node]:
    """The values of a part of an array, the last ones left out if they are zeros."""
    _, *inner = extents
    values: list[c_ast.Node] = []
    has_lists = any(isinstance(one, c_ast.InitList) for one in init.exprs)
    for one in init.exprs:
        if isinstance(one, c_ast.NamedInitializer):
            raise scope.error(one, "an initial value by position; expected them in order")
        if isinstance(one, c_ast.InitList) != (has_lists and bool(inner)):
            raise scope.error(one, "expected braces around each row, or around none")
        if isinstance(one, c_ast.InitList):
            row = _flat(scope, node, one, inner)
            zeros = [c_ast.Constant("int", "0", one.coord)] * (prod(inner) - len(row))
            values += [*row, *zeros]
        else:
            values.append(one)
    if len(values) > prod(extents):
        raise scope.error(node, f"'{node.name}' has more initial values than elements")
    return values
