"""``np.argmax`` and ``np.argmin``: the first index of the largest or smallest element."""

from __future__ import annotations

import ast

from polysched.errors import KernelError
from polysched.frontends.python.arrays.accumulation import Accumulation
from polysched.frontends.python.scope.array_values import ArrayValue, Operand, Subscripts
from polysched.frontends.python.scope.axes import joined_indices, split_shape
from polysched.ir.expr.dtypes import boolean, i64
from polysched.ir.expr.expressions import Constant, Expression, operation
from polysched.ir.expr.functions import cast, not_equal, select
from polysched.ir.expr.operators import Operator


def position(
    accumulation: Accumulation,
    node: ast.AST,
    array: ArrayValue,
    axes: tuple[int, ...],
    extremum: Operand,
    *,
    is_largest: bool,
) -> Operand:
    """The least index of an element that equals the extremum, a reduction in any order.

    A NaN is the largest and the smallest element.

    Args:
        extremum: the largest or smallest element along the axes.
    """
    if len(axes) not in (1, array.rank):
        raise KernelError("expected an axis, or none")
    kept, reduced = split_shape(array.shape, axes)
    if len(reduced) > 1:
        reader = accumulation.stores.reader
        reader.require_fitting(reader.calls.count(reduced, node), node)

    def term(outer: Subscripts, inner: Subscripts) -> Expression:
        element = array.at(joined_indices(outer, inner, axes)).expression
        best = (extremum.at(outer) if isinstance(extremum, ArrayValue) else extremum).expression
        if array.dtype == boolean:
            is_best = element | ~best if is_largest else ~element | best
        else:
            is_best = operation(Operator.EQUAL, element, best)
        if array.dtype.is_float:  # if there is a NaN, it is the extremum
            is_best = is_best | not_equal(element, element)
        number: Expression = Constant(0)
        for index, extent in zip(inner, reduced, strict=True):
            number = number * extent + index
        return select(is_best, cast(number, i64), last)

    last = Constant(i64.highest, i64)
    return accumulation.accumulate(node, (kept, reduced), i64, Operator.MINIMUM, last, term)
