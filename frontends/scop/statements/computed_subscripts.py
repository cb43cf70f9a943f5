"""Move subscripts that depend on data into index variables of their own.

::

    out[i] = src[sy * sw + sx];         long index = sy * sw + sx;  out[i] = src[index];

The kernel promises that such an index lies within its dimension, as C demands of every access. If
the extent is declared nowhere, it counts as unlimited: then overlap with other arrays cannot be
checked at run time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import islpy as isl
from pycparser import c_ast

from polysched.errors import FrontendError, KernelError
from polysched.frontends.scop.affine.bindings import ArrayBinding, IntegerBinding
from polysched.frontends.scop.affine.expressions import affine
from polysched.frontends.scop.affine.linearized import NO_OFFSET, polynomial_value
from polysched.frontends.scop.affine.rows import RowBinding
from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.affine.subscripts import data_subscript
from polysched.frontends.scop.declare.shapes import UNKNOWN
from polysched.frontends.scop.rewrites.usage import base_name
from polysched.frontends.scop.source.trees import StandIn, mapped, walk
from polysched.frontends.scop.statements.values import Values, c_type_of
from polysched.frontends.scop.types.polynomials import polynomial_of
from polysched.ir.core.data_dependent import ABSENT, may_relation
from polysched.ir.core.limits import limited
from polysched.ir.expr.dtypes import i64
from polysched.ir.expr.expressions import Expression


class Declare(Protocol):
    """Declares an index variable with a value below an extent; returns its name."""

    def __call__(self, node: c_ast.Node, extent: Expression, *, is_optional: bool = False) -> str:
        """Declare the variable; if it is optional, there may be no element."""


def with_index_variables(
    scope: Scope, node: c_ast.Node, declare: Declare, *, guards: int = 0
) -> c_ast.Node:
    """Replace the subscripts in a statement that depend on data.

    A subscript under a condition on data is optional: there is an element only if the condition
    holds.

    Args:
        declare: declares an index variable in front of the statement.
        guards: the number of conditions on data that the statement depends on.
    """

    def replaced(inner: c_ast.Node, condition: c_ast.Node | None) -> c_ast.Node:
        match inner:
            case c_ast.UnaryOp(op="sizeof"):
                return inner
            case c_ast.TernaryOp(cond=cond):
                holds = replaced(cond, condition)
                first = replaced(inner.iftrue, _both(condition, holds))
                second = replaced(inner.iffalse, _both(condition, _negated(holds)))
                return c_ast.TernaryOp(holds, first, second, inner.coord)
            case c_ast.BinaryOp(op="&&" | "||" as operator, left=left, right=right):
                first = replaced(left, condition)
                holds = first if operator == "&&" else _negated(first)
                second = replaced(right, _both(condition, holds))
                return c_ast.BinaryOp(operator, first, second, inner.coord)
        changed = mapped(inner, lambda child: replaced(child, condition))
        if not isinstance(changed, c_ast.ArrayRef):
            return changed
        element = _from_the_start(scope, changed)
        subscript, extent = element.subscript, _extent(scope, element)
        is_optional = bool(guards) or condition is not None
        if (
            extent is None
            or not _is_integer(scope, subscript)
            or not _needs_variable(scope, element, *extent, is_optional=is_optional)
        ):
            return changed
        if condition is not None:
            number = c_ast.Constant("long", str(-ABSENT), subscript.coord)
            absent = c_ast.UnaryOp("-", number, subscript.coord)
            subscript = c_ast.TernaryOp(condition, subscript, absent, subscript.coord)
        name = declare(subscript, extent[0], is_optional=is_optional)
        return c_ast.ArrayRef(element.name, StandIn(name, changed.subscript), changed.coord)

    return replaced(node, None)


def _from_the_start(scope: Scope, node: c_ast.ArrayRef) -> c_ast.ArrayRef:
    """Return an element after a pointer into an array as an element of the array itself."""
    binding = scope.find(node.name.name) if isinstance(node.name, c_ast.ID) else None
    if not isinstance(binding, RowBinding) or binding.prefix or binding.rank != 1:
        return node
    array, offset = (f"{part} of {node.name.name}" for part in ("array", "offset"))
    scope.bind(array, replace(binding, offset=NO_OFFSET))
    is_affine = all(len(monomial) < 2 for monomial in polynomial_of(binding.offset))
    scope.bind(offset, IntegerBinding(binding.offset, i64, is_affine))
    names = [StandIn(name, node.name) for name in (array, offset)]
    subscript = c_ast.BinaryOp("+", names[1], node.subscript, node.subscript.coord)
    return c_ast.ArrayRef(names[0], subscript, node.coord)


def _both(first: c_ast.Node | None, second: c_ast.Node) -> c_ast.Node:
    return second if first is None else c_ast.BinaryOp("&&", first, second, second.coord)


def _negated(node: c_ast.Node) -> c_ast.Node:
    return c_ast.UnaryOp("!", node, node.coord)


def _extent(scope: Scope, node: c_ast.ArrayRef) -> tuple[Expression, bool] | None:
    """Return the extent of the dimension that a subscript belongs to, and if it is linearized."""
    binding = scope.find(base_name(node))
    if not isinstance(binding, ArrayBinding) or not binding.rank:
        return None
    if isinstance(binding, RowBinding) and (binding.prefix or binding.offset != NO_OFFSET):
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


def _is_affine(scope: Scope, node: c_ast.Node, *, is_flat: bool) -> bool:
    with scope.not_evaluated():
        for translate in (affine, polynomial_value) if is_flat else (affine,):
            try:
                translate(scope, node)
            except FrontendError:
                continue
            return True
    return False


def _needs_variable(
    scope: Scope, node: c_ast.ArrayRef, extent: Expression, is_flat: bool, *, is_optional: bool
) -> bool:
    """Whether a subscript is neither affine nor a sum with index arrays that stays inside."""
    if _is_affine(scope, node.subscript, is_flat=is_flat):
        return False
    if is_optional:
        return True
    with scope.not_evaluated():
        try:
            value = data_subscript(scope, node.subscript)
        except FrontendError:
            return False  # refused where it is translated
    return value is None or not (extent == UNKNOWN or _is_inside(scope, value, extent))


def _is_inside(scope: Scope, value: Expression, extent: Expression) -> bool:
    """Whether any elements of the index arrays keep a subscript inside its dimension."""
    try:
        with limited(KernelError, "the subscript is too intricate"):
            values = may_relation(scope.instances(), (value, value - extent)).range()
            least, most = values.dim_min_val(0), values.dim_max_val(1)
            return least.is_nonneg() and most.is_neg() and most.is_int()
    except (KernelError, isl.Error):
        return False
