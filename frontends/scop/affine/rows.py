"""Row pointers that never move: ``float *row = A + i*m;`` or ``float *row = &A[i][0];``."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pycparser import c_ast

from polysched.frontends.scop.affine.bindings import ArrayBinding
from polysched.frontends.scop.affine.expressions import affine
from polysched.frontends.scop.affine.integer_types import require_signed
from polysched.frontends.scop.affine.integers import plus
from polysched.frontends.scop.affine.linearized import NO_OFFSET, polynomial_value
from polysched.frontends.scop.affine.scope import Scope
from polysched.ir.expr.expressions import Expression


@dataclass(frozen=True)
class RowBinding(ArrayBinding):
    """Pointer to a row of an array, or to an element within a row.

    Attributes:
        prefix: the leading subscripts, which select the row.
        offset: the addend of the next subscript; linearized if the array is.
    """

    prefix: tuple[Expression, ...] = ()
    offset: Expression = NO_OFFSET

    @property
    def rank(self) -> int:
        """Number of C subscripts between the pointer and an element."""
        return super().rank - len(self.prefix)


def row_of(scope: Scope, node: c_ast.Node) -> RowBinding | None:
    """Translate a pointer expression to a row of an array; None if it is not such a pointer."""
    match node:
        case c_ast.ID():
            binding = scope.lookup(node)
            if isinstance(binding, RowBinding):
                return binding
            if isinstance(binding, ArrayBinding) and binding.rank:
                return RowBinding(**vars(binding))
        case c_ast.BinaryOp(op="+", left=left, right=right):
            inner = row_of(scope, left)
            return None if inner is None else _moved(scope, inner, right)
        case c_ast.BinaryOp(op="-", left=left, right=right):
            inner = row_of(scope, left)
            back = c_ast.UnaryOp("-", right, right.coord)
            return None if inner is None else _moved(scope, inner, back)
        case c_ast.UnaryOp(op="&", expr=c_ast.ArrayRef(name=name, subscript=subscript)):
            inner = row_of(scope, name)
            return None if inner is None else _moved(scope, inner, subscript)
        case c_ast.ArrayRef(name=name, subscript=subscript):
            inner = row_of(scope, name)
            if inner is None or inner.rank < 2:
                return None
            moved = _moved(scope, inner, subscript)
            return replace(moved, prefix=(*moved.prefix, moved.offset), offset=NO_OFFSET)
    return None


def _moved(scope: Scope, row: RowBinding, by: c_ast.Node) -> RowBinding:
    if row.is_flat:
        distance = polynomial_value(scope, by)
    else:
        distance = require_signed(scope, by, affine(scope, by)).value
    return replace(row, offset=plus(row.offset, distance))
