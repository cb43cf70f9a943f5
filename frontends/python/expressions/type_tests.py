"""Tests of element types, which choose a side when the function is read."""

from __future__ import annotations

import ast
from collections.abc import Callable

from polysched.ir.expr.dtypes import DType


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
    if not any(isinstance(one, ast.Attribute) and one.attr == "dtype" for one in (left, *others)):
        return None
    return (dtype(left) in map(dtype, others)) is isinstance(op, ast.Eq | ast.In)
