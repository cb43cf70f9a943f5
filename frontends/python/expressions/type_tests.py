"""Tests of element types, which choose a side when the function is read, and of shapes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import reduce
from operator import and_

from polysched.frontends.python.scope.array_values import Subscripts, tidy
from polysched.ir.expr.dtypes import DType, boolean
from polysched.ir.expr.expressions import Constant, Expression
from polysched.ir.expr.functions import equal


def type_test(dtype: Callable[[ast.expr], DType], node: ast.Compare) -> bool | None:
    """The answer to ``x.dtype == np.float32`` or ``in (...)``; None for another comparison.

    Args:
        dtype: the element type that an expression names.
    """
    match node:
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as op], comparators=[right]):
            others = right.elts if isinstance(right, ast.Tuple | ast.List | ast.Set) else []
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[right]):
            others = [right]
        case _:
            return None
    if not any(
        isinstance(side, ast.Attribute) and side.attr == "dtype" for side in (left, *others)
    ):
        return None
    return (dtype(left) in map(dtype, others)) is isinstance(op, ast.Eq | ast.In)


def shape_test(shape: Callable[[ast.expr], Subscripts], node: ast.Compare) -> Expression | None:
    """The condition of ``x.shape == y.shape``; None for another comparison.

    Args:
        shape: the extents that an expression names.
    """
    match node:
        case ast.Compare(
            left=ast.Attribute(attr="shape") as left,
            ops=[ast.Eq()],
            comparators=[ast.Attribute(attr="shape") as right],
        ):
            first, second = ([*map(tidy, shape(side))] for side in (left, right))
        case _:
            return None
    if len(first) != len(second):
        return Constant(False, boolean)
    different = [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]]
    return reduce(and_, (equal(*pair) for pair in different), Constant(True, boolean))
