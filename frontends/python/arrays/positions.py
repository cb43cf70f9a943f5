"""``np.argmax`` and ``np.argmin``: the first index of the largest or smallest element."""

from __future__ import annotations

import ast

from polysched.errors import KernelError
from polysched.frontends.python.arrays.array_stores import ArrayStores
from polysched.frontends.python.scope.array_values import ArrayValue, Operand
from polysched.frontends.python.scope.axes import joined_indices, split_shape
from polysched.frontends.python.values.value import Value
from polysched.ir.expr.dtypes import boolean, i64
from polysched.ir.expr.expressions import Constant, Expression
from polysched.ir.expr.functions import cast, not_equal, select


def position(
    stores: ArrayStores,
    node: ast.AST,
    array: ArrayValue,
    axes: tuple[int, ...],
    *,
    is_largest: bool,
) -> Operand:
    """The first index of the largest or smallest element; a NaN counts as both.

    Raises:
        KernelError: there are several axes, but not all.
    """
    if len(axes) not in (1, array.rank):
        raise KernelError("expected an axis, or none")
    kept, reduced = split_shape(array.shape, axes)
    reader, dtype = stores.reader, array.dtype
    best = stores.new(node, "best", dtype, kept)
    where = stores.new(node, "position", i64, kept)
    zero = tuple(Constant(0) for _ in reduced)
    with stores.loops(kept, "best") as outer:
        first = array.at(joined_indices(outer, zero, axes))
        stores.put_element(node, best, outer, first, is_new=True)
        stores.put_element(node, where, outer, Value(Constant(0, i64)), is_new=True)
    with (
        stores.loops(kept, "best") as outer,
        stores.loops(reduced, "all") as inner,
    ):
        element = array.at(joined_indices(outer, inner, axes)).expression
        old = best.at(outer).expression
        less, more = (old, element) if is_largest else (element, old)
        is_better = ~less & more if dtype == boolean else less < more
        if dtype.is_float:
            is_better = is_better | (not_equal(element, element) & ~not_equal(old, old))
        number: Expression = Constant(0)
        for index, extent in zip(inner, reduced, strict=True):
            number = number * extent + index
        if len(reduced) > 1:
            reader.require_fitting(reader.calls.count(reduced, node), node)
        number = select(is_better, cast(number, i64), where.at(outer).expression)
        stores.put_element(node, where, outer, Value(number), is_new=True)
        better = Value(select(is_better, element, old))
        stores.put_element(node, best, outer, better, is_new=True)
    return where if kept else where.at(())
