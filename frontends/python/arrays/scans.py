"""``np.cumsum``, ``np.maximum.accumulate`` and similar functions: all partial results."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from polysched.errors import KernelError
from polysched.frontends.python.arrays.array_stores import ArrayStores
from polysched.frontends.python.scope.array_values import ArrayValue, Operand
from polysched.frontends.python.scope.axes import joined_indices, split_shape
from polysched.frontends.python.values.value import Value, converted
from polysched.ir.expr.dtypes import as_dtype
from polysched.ir.expr.expressions import Constant, Index, operation
from polysched.ir.expr.operators import Operator

OPERATORS: Mapping[np.ufunc, Operator] = MappingProxyType(
    {
        np.add: Operator.ADD,
        np.multiply: Operator.MULTIPLY,
        np.minimum: Operator.MINIMUM,
        np.maximum: Operator.MAXIMUM,
        np.logical_or: Operator.OR,
        np.logical_and: Operator.AND,
    }
)
"""The functions of numpy that reduce an array, or make all partial results."""


def scan_operator(function: Any) -> Operator | None:
    """The operator of ``np.cumsum``, or of ``np.maximum.accumulate``; None for other functions."""
    if function is np.cumsum or function is np.cumprod:
        return Operator.ADD if function is np.cumsum else Operator.MULTIPLY
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc) and getattr(function, "__name__", "") == "accumulate":
        return OPERATORS.get(owner)
    return None


def scan(
    stores: ArrayStores, node: ast.AST, array: ArrayValue, axes: tuple[int, ...], operator: Operator
) -> Operand:
    """All partial results along one dimension, in numpy's order."""
    if len(axes) != 1:
        raise KernelError("expected an axis, or an array with one dimension")
    dtype = array.dtype
    if operator in (Operator.ADD, Operator.MULTIPLY):
        dtype = as_dtype(np.cumsum(np.ones(1, array.dtype.numpy())).dtype)
    result = stores.new(node, "sums", dtype, array.shape)
    assert result.base is not None
    hint, scope, build = result.base.array.name, stores.reader.scope, stores.reader.build
    kept, (extent,) = split_shape(array.shape, axes)
    with stores.loops(kept, hint) as outer:
        first = joined_indices(outer, (Constant(0),), axes)
        name = scope.index_name(f"{hint}_first", scope.indices)
        # A loop of one iteration, so that nothing is read of an array without elements.
        with build.loops(**{name: extent}), build.where(Index(name) < 1):
            value = Value(converted(array.at(first), dtype))
            stores.put_element(node, result, first, value, is_new=True)
        name = scope.index_name(f"{hint}_each", scope.indices)
        with build.loops(**{name: (1, extent)}) as at:
            here, before = (joined_indices(outer, (i,), axes) for i in (at, at - 1))
            terms = result.at(before).expression, converted(array.at(here), dtype)
            value = Value(operation(operator, *terms))
            stores.put_element(node, result, here, value, is_new=True)
    return result
