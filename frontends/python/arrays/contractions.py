"""Sums of products of arrays: ``left @ right`` and ``np.einsum``."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Sequence
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from polysched.errors import KernelError
from polysched.frontends.python.arrays.accumulation import Accumulation
from polysched.frontends.python.scope.array_values import (
    ArrayValue,
    Operand,
    Subscripts,
    require_defined,
    require_same,
    shape_text,
)
from polysched.frontends.python.values.value import converted, number
from polysched.ir.expr.dtypes import DType, as_dtype, boolean
from polysched.ir.expr.expressions import Expression
from polysched.ir.expr.operators import Operator

PRODUCTS = (np.dot, np.matmul, np.inner, np.vdot)


def named_product(
    accumulation: Accumulation,
    node: ast.Call,
    function: Any,
    left: Operand,
    arguments: Sequence[ast.expr],
) -> Operand:
    """The call of a function of `PRODUCTS`; ``arguments`` are those after the first array."""
    reader = accumulation.stores.reader
    if len(arguments) != 1 or node.keywords:
        raise reader.source.error(node, "expected two arrays")
    right = reader.calls.read(arguments[0])
    if function in (np.inner, np.vdot):
        ranks = [side.rank for side in (left, right) if isinstance(side, ArrayValue)]
        if ranks != [1, 1]:
            raise KernelError(f"expected np.{function.__name__} of two vectors")
    return product(accumulation, node, left, right, function)


def product(
    accumulation: Accumulation, node: ast.AST, left: Operand, right: Operand, function: Any
) -> Operand:
    """``left @ right``, where ``right`` has one or two dimensions, or is a stack.

    Args:
        function: the function of numpy, which decides the type of the result.
    """
    if not isinstance(left, ArrayValue) or not isinstance(right, ArrayValue):
        raise KernelError("expected two arrays")
    is_stack = function is np.matmul and right.rank > 2
    if not (left.rank >= 1 and (is_stack or 1 <= right.rank <= 2)):
        raise KernelError(
            f"a product of arrays with {left.rank} and {right.rank} dimensions is not "
            "supported; expected a second one with one or two: write loops, or use "
            "polysched.einsum"
        )
    require_defined(left)
    require_defined(right)
    rows = [*_stack(left.rank), "row", "inner"][-left.rank :]
    columns = [*_stack(right.rank), "inner", "column"] if right.rank > 1 else ["inner"]
    inner = right.shape[columns.index("inner")]
    if not require_same(accumulation.stores.reader.build, left.shape[-1], inner):
        raise KernelError(
            f"shapes {shape_text(left.shape)} and {shape_text(right.shape)} do not fit a product: "
            "their inner extents differ"
        )
    samples = [np.zeros((1,) * side.rank, side.dtype.numpy()) for side in (left, right)]
    dtype = as_dtype(np.asarray(function(*samples)).dtype)
    stack = _stack(max(left.rank, right.rank))
    output = [name for name in (*stack, "row", "column") if name in (*rows, *columns)]
    return _contracted(accumulation, node, (left, right), (rows, columns), output, dtype)


def _stack(rank: int) -> list[str]:
    """Names of the dimensions of a stack of matrices, the same from the last one on."""
    return [f"stack {at}" for at in range(rank - 2, 0, -1)]


def einsum(accumulation: Accumulation, node: ast.Call) -> Operand:
    """``np.einsum("ij,jk->ik", a, b)``.

    Raises:
        FrontendError, KernelError: the text does not fit the operands.
    """
    reader = accumulation.stores.reader
    expected = "expected np.einsum('ij,jk->ik', a, b), with letters alone"
    match node.args:
        case [ast.Constant(value=str(text)), _, *_] if not node.keywords:
            inputs, arrow, output = text.replace(" ", "").partition("->")
        case _:
            raise reader.source.error(node, expected)
    labels = inputs.split(",")
    if not arrow:
        output = "".join(sorted(c for c in set(inputs) - {","} if inputs.count(c) == 1))
    operands = [reader.calls.read(argument) for argument in node.args[1:]]
    arrays = [operand for operand in operands if isinstance(operand, ArrayValue)]
    fits = len(labels) == len(arrays) == len(operands) and len(set(output)) == len(output)
    if not fits or not "".join([*labels, output]).isalpha() or set(output) - set(inputs):
        raise reader.source.error(node, expected)
    dtype = as_dtype(np.result_type(*(array.dtype.numpy() for array in arrays)))
    return _contracted(accumulation, node, arrays, labels, output, dtype)


def _contracted(
    accumulation: Accumulation,
    node: ast.AST,
    arrays: Sequence[ArrayValue],
    labels: Sequence[Sequence[Hashable]],
    output: Sequence[Hashable],
    dtype: DType,
) -> Operand:
    """The product of arrays, summed over the labels that the output lacks."""
    build = accumulation.stores.reader.build
    extents: dict[Hashable, Expression] = {}
    for names, array in zip(labels, arrays, strict=True):
        require_defined(array)
        if len(names) != array.rank:
            raise KernelError(f"'{names}' names {len(names)} of {array.rank} dimensions")
        for name, extent in zip(names, array.shape, strict=True):
            if not require_same(build, extents.setdefault(name, extent), extent):
                raise KernelError(f"the extents of '{name}' differ")
    if dtype == boolean:
        raise KernelError("a product of conditions is not supported; convert one to numbers")
    summed = [name for name in extents if name not in output]

    def term(kept: Subscripts, inner: Subscripts) -> Expression:
        at = dict(zip([*output, *summed], [*kept, *inner], strict=True))
        factors = (
            converted(array.at(tuple(at[name] for name in names)), dtype)
            for names, array in zip(labels, arrays, strict=True)
        )
        return reduce(mul, factors)

    kept, reduced = (tuple(extents[name] for name in names) for names in (output, summed))
    start = converted(number(0), dtype)
    return accumulation.accumulate(node, (kept, reduced), dtype, Operator.ADD, start, term)
