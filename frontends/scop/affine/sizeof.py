"""Evaluate ``sizeof``: of types, of elements, and of arrays whose extents are literals."""

from __future__ import annotations

from math import prod

from pycparser import c_ast

from polysched.frontends.scop.affine.bindings import ArrayBinding
from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.types.c_types import declared_type
from polysched.ir.expr.expressions import Constant


def bytes_of(scope: Scope, node: c_ast.UnaryOp) -> int | None:
    """Return the value of ``sizeof``; None if it is not a known number.

    The elements in ``sizeof x[0]`` are not evaluated, so no access is recorded.
    """
    if isinstance(node.expr, c_ast.Typename):
        ctype = declared_type(node.expr.type, scope.typedefs, scope.source_map, node)
        return None if ctype.dtype is None or ctype.dims else ctype.dtype.bytes
    base = node.expr
    subscripts = 0
    while isinstance(base, c_ast.ArrayRef) or (isinstance(base, c_ast.UnaryOp) and base.op == "*"):
        base = base.name if isinstance(base, c_ast.ArrayRef) else base.expr
        subscripts += 1
    binding = scope.find(base.name) if isinstance(base, c_ast.ID) else None
    if binding is None:
        return None
    if not isinstance(binding, ArrayBinding):
        return binding.dtype.bytes if subscripts == 0 else None
    if subscripts > binding.rank or (subscripts == 0 and binding.rank and not binding.is_object):
        return None  # a pointer, or an error elsewhere
    rest = binding.array.shape[len(binding.array.shape) - (binding.rank - subscripts) :]
    extents = [int(extent.value) for extent in rest if isinstance(extent, Constant)]
    return binding.dtype.bytes * prod(extents) if len(extents) == len(rest) else None
