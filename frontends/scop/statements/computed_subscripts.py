"""Move subscripts that depend on data into index variables of their own.

::

    out[i] = src[sy * sw + sx];         long index = sy * sw + sx;  out[i] = src[index];

The kernel promises that such an index lies within its dimension, as C demands of every access. If
the extent is declared nowhere, it counts as unlimited: then overlap with other arrays cannot be
checked at run time.
"""

from __future__ import annotations

from collections.abc import Callable

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.affine.bindings import ArrayBinding
from polysched.frontends.scop.affine.expressions import affine
from polysched.frontends.scop.affine.linearized import polynomial_value
from polysched.frontends.scop.affine.rows import RowBinding
from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.affine.subscripts import data_subscript
from polysched.frontends.scop.declare.shapes import UNKNOWN
from polysched.frontends.scop.rewrites.usage import base_name
from polysched.frontends.scop.source.trees import StandIn, mapped, walk
from polysched.frontends.scop.statements.values import Values, c_type_of
from polysched.ir.expr.expressions import Expression

Declare = Callable[[c_ast.Node, Expression], str]
"""Declares an index variable with a value below an extent; returns its name."""


def with_index_variables(
    scope: Scope, node: c_ast.Node, declare: Declare, *, guards: int = 0
) -> c_ast.Node:
    """Replace the subscripts in a statement that depend on data.

    Only subscripts that the statement always evaluates are replaced. Under a condition on data,
    only those of guarded arrays are, whose elements are accessed only where the condition holds:
    elsewhere the index variable is 0, which other arrays may not have.

    Args:
        scope: the visible names.
        node: an expression.
        declare: declares an index variable in front of the statement.
        guards: the number of conditions on data that the statement depends on.
    """

    def replaced(inner: c_ast.Node) -> c_ast.Node:
        match inner:
            case c_ast.UnaryOp(op="sizeof"):
                return inner
            case c_ast.TernaryOp(cond=cond):
                return c_ast.TernaryOp(replaced(cond), inner.iftrue, inner.iffalse, inner.coord)
            case c_ast.BinaryOp(op="&&" | "||" as operator, left=left, right=right):
                return c_ast.BinaryOp(operator, replaced(left), right, inner.coord)
        changed = mapped(inner, replaced)
        if not isinstance(changed, c_ast.ArrayRef):
            return changed
        extent = _extent(scope, changed)
        if (
            extent is None
            or (guards and not _may_be_guarded(scope, changed))
            or not _is_integer(scope, changed.subscript)
            or _is_known(scope, changed.subscript, is_flat=extent[1])
        ):
            return changed
        name = declare(changed.subscript, extent[0])
        return c_ast.ArrayRef(changed.name, StandIn(name, changed.subscript), changed.coord)

    return replaced(node)


def _extent(scope: Scope, node: c_ast.ArrayRef) -> tuple[Expression, bool] | None:
    """Return the extent of the dimension that a subscript belongs to, and if it is linearized."""
    binding = scope.find(base_name(node))
    if not isinstance(binding, ArrayBinding) or not binding.rank:
        return None
    if isinstance(binding, RowBinding):
        return None  # a pointer into a row may pass the end of the row
    position = -1
    array: c_ast.Node = node
    while isinstance(array, c_ast.ArrayRef):
        array, position = array.name, position + 1
    if not isinstance(array, c_ast.ID) or position >= binding.rank:
        return None
    if binding.is_draft and position == 0:
        return UNKNOWN, binding.is_flat
    if binding.is_flat:
        return None  # a declared shape of several dimensions
    return binding.array.shape[len(binding.array.shape) - binding.rank + position], False


def _may_be_guarded(scope: Scope, node: c_ast.ArrayRef) -> bool:
    """Whether an access may lead to a guarded array; every one to an unknown extent may."""
    binding = scope.find(base_name(node))
    assert isinstance(binding, ArrayBinding)
    return binding.is_draft or binding.array.name in scope.guarded


def _is_integer(scope: Scope, node: c_ast.Node) -> bool:
    """Whether a subscript is an integer without side effects and without a division by 0."""
    for inner in walk(node):
        if isinstance(inner, c_ast.BinaryOp) and inner.op in "/%":
            divisor = inner.right
            if isinstance(divisor, c_ast.Constant) and divisor.value == "0":
                return False
    with scope.not_evaluated():
        try:
            return c_type_of(Values(scope).value(node)).is_integer
        except FrontendError:
            return False  # refused where it is translated


def _is_known(scope: Scope, node: c_ast.Node, *, is_flat: bool) -> bool:
    with scope.not_evaluated():
        for translate in (affine, polynomial_value) if is_flat else (affine,):
            try:
                translate(scope, node)
            except FrontendError:
                continue
            return True
        try:
            return data_subscript(scope, node) is not None
        except FrontendError:
            return True  # refused where it is translated
