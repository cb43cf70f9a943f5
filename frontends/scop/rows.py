"""Pointers into an array that stay where they are: ``float *row = A + i*m;``, ``= &A[i][0];``."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pycparser import c_ast

from polysched.frontends.scop.affine import affine, require_signed
from polysched.frontends.scop.integers import plus
from polysched.frontends.scop.linearized import NOTHING, polynomial_value
from polysched.frontends.scop.scope import ArrayBinding, Scope
from polysched.ir.expressions import Expression


@dataclass(frozen=True)
class RowBinding(ArrayBinding):
    """A name that stands for a part of an array of the kernel.

    ``prefix``: the first subscripts; ``offset``: what is added to the next one, in C.
    """

    prefix: tuple[Expression, ...] = ()
    offset: Expression = NOTHING

    @property
    def rank(self) -> int:
        """Subscripts that an element takes in C behind the pointer."""
        return super().rank - len(self.prefix)


def row_of(scope: Scope, node: c_ast.Node) -> RowBinding | None:
    """The part of an array that a pointer leads to; None if it is nothing of the kind.

    Raises:
        FrontendError: its place is not affine.
    """
    match node:
        case c_ast.ID():
            found = scope.lookup(node)
            if isinstance(found, RowBinding):
                return found
            if isinstance(found, ArrayBinding) and found.rank:
                return RowBinding(found.handle, found.is_flat, found.is_const, found.guards)
        case c_ast.BinaryOp(op="+", left=left, right=right):
            inner = row_of(scope, left)
            return None if inner is None else _moved(scope, inner, right)
        case c_ast.UnaryOp(op="&", expr=c_ast.ArrayRef(name=name, subscript=subscript)):
            inner = row_of(scope, name)
            return None if inner is None else _moved(scope, inner, subscript)
        case c_ast.ArrayRef(name=name, subscript=subscript):
            inner = row_of(scope, name)
            if inner is None or inner.rank < 2:
                return None
            moved = _moved(scope, inner, subscript)
            return replace(moved, prefix=(*moved.prefix, moved.offset), offset=NOTHING)
    return None


def _moved(scope: Scope, row: RowBinding, by: c_ast.Node) -> RowBinding:
    if row.is_flat:
        distance = polynomial_value(scope, by)
    else:
        distance = require_signed(scope, by, affine(scope, by)).value
    return replace(row, offset=plus(row.offset, distance))
