"""Enumeration of the integer points of a set, and vectorized evaluation of affine functions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

import islpy as isl
import numpy as np
from numpy.typing import NDArray

from polysched.errors import CallError, KernelError
from polysched.ir.core.limits import limited
from polysched.ir.expr.affine import from_pw_aff, from_set
from polysched.ir.expr.expressions import Constant, Expression, Index, Operation, Parameter
from polysched.ir.expr.operators import Operator
from polysched.ir.isl.extrema import greatest, least

Points: TypeAlias = NDArray[np.int64]
_SetOrMap = TypeVar("_SetOrMap", isl.Set, isl.Map)

_CHUNK = 1 << 16
"""Points of the bounding box tested at once; bounds the memory, but keeps numpy's loops long."""


def points(domain: isl.Set, parameters: Mapping[str, int]) -> Points:
    """Enumerate the points of a set in lexicographic order: shape (count, dimensions).

    The cost is proportional to the bounding box, which can be much larger than a skewed set.
    """
    rank = domain.dim(isl.dim_type.set)
    names = [f"x{position}" for position in range(rank)]
    with limited(KernelError, "the points of a set cannot be listed"):
        fixed = at_parameters(domain, parameters)
        if fixed.is_empty():
            return np.empty((0, rank), np.int64)
        box = bounding_box(fixed)
        for position, name in enumerate(names):
            fixed = fixed.set_dim_name(isl.dim_type.set, position, name)
        condition = from_set(fixed)
    shape = [len(values) for values in box]
    total = math.prod(shape)
    chunks = []
    for start in range(0, total, _CHUNK):
        flat = np.arange(start, min(start + _CHUNK, total))
        offsets = np.unravel_index(flat, shape) if rank else ()
        columns = [offset + values.start for offset, values in zip(offsets, box, strict=True)]
        rows = np.stack(columns, axis=1) if rank else np.empty((1, 0), np.int64)
        inside = evaluate_many(condition, dict(zip(names, columns, strict=True)))
        chunks.append(rows[np.broadcast_to(inside, len(rows))])
    return np.concatenate(chunks)


def box_size(domain: isl.Set, parameters: Mapping[str, int]) -> int:
    """The number of points of the bounding box, which :func:`points` has to test."""
    with limited(KernelError, "the points of a set cannot be counted"):
        fixed = at_parameters(domain, parameters)
        return 0 if fixed.is_empty() else math.prod(map(len, bounding_box(fixed)))


def values(function: isl.PwAff, where: Points, parameters: Mapping[str, int]) -> Points:
    """Evaluate a function at points of its domain: shape (count,)."""
    names = [
        str(function.get_dim_name(isl.dim_type.in_, position))
        for position in range(function.dim(isl.dim_type.in_))
    ]
    variables: dict[str, Any] = {**parameters, **dict(zip(names, where.T, strict=True))}
    result = evaluate_many(from_pw_aff(function), variables)
    return np.broadcast_to(np.asarray(result, np.int64), len(where))


def evaluate_many(expression: Expression, variables: Mapping[str, Any]) -> Any:
    """Evaluate a quasi-affine expression or condition on int64 arrays, or on Python's integers.

    Arrays have one shape, and their integers wrap; Python's integers are exact at any length.
    """
    match expression:
        case Constant(value=value):
            return value
        case Index(name=name) | Parameter(name=name):
            return variables[name]
        case Operation(operator=kind, operands=operands) if kind in _FUNCTIONS:
            return _FUNCTIONS[kind](*[evaluate_many(operand, variables) for operand in operands])
        case _:
            raise KernelError(f"'{expression}' is not quasi-affine")


def _select(condition: Any, if_true: Any, if_false: Any) -> Any:
    if np.ndim(condition) == 0:  # `np.where` has no integers of more than 64 bits
        return if_true if condition else if_false
    return np.where(condition, if_true, if_false)


_FUNCTIONS: Mapping[Operator, Callable[..., Any]] = MappingProxyType(
    {
        Operator.ADD: operator.add,
        Operator.SUBTRACT: operator.sub,
        Operator.MULTIPLY: operator.mul,
        Operator.FLOOR_DIVIDE: operator.floordiv,
        Operator.MODULO: operator.mod,
        Operator.NEGATE: operator.neg,
        Operator.MINIMUM: lambda a, b: _select(a <= b, a, b),
        Operator.MAXIMUM: lambda a, b: _select(a >= b, a, b),
        Operator.LESS: operator.lt,
        Operator.LESS_EQUAL: operator.le,
        Operator.EQUAL: operator.eq,
        Operator.NOT_EQUAL: operator.ne,
        Operator.AND: np.logical_and,
        Operator.OR: np.logical_or,
        Operator.NOT: np.logical_not,
        Operator.SELECT: _select,
    }
)


def at_parameters(domain: isl.Set, parameters: Mapping[str, int]) -> isl.Set:
    """Fix the parameters of a set at the given values and remove them."""
    count = domain.dim(isl.dim_type.param)
    names = [str(domain.get_dim_name(isl.dim_type.param, position)) for position in range(count)]
    for name in names:
        if name not in parameters:
            raise CallError(f"parameter '{name}' has no value; pass one")
    return with_parameters(domain, parameters).project_out(isl.dim_type.param, 0, count)


def with_parameters(relation: _SetOrMap, values: Mapping[str, int]) -> _SetOrMap:
    """Fix some parameters of a set or a map; names that it does not have are ignored."""
    for name, value in values.items():
        position = relation.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            relation = relation.fix_val(isl.dim_type.param, position, isl.Val(int(value)))
    return relation


def bounding_box(domain: isl.Set) -> list[range]:
    """The bounding box of a set that is not empty and has no parameters."""
    box = []
    for position in range(domain.dim(isl.dim_type.set)):
        smallest, largest = least(domain, position), greatest(domain, position)
        if smallest is None or largest is None:
            raise KernelError(f"{domain} is unbounded in dimension {position}; cannot enumerate it")
        box.append(range(smallest, largest + 1))
    return box


def columns_at(
    functions: Sequence[int | isl.PwAff], rows: Points, parameters: Mapping[str, int]
) -> Points:
    """Evaluate functions and literals at points: shape (count, functions)."""
    result = np.empty((len(rows), len(functions)), np.int64)
    for position, function in enumerate(functions):
        result[:, position] = (
            function if isinstance(function, int) else values(function, rows, parameters)
        )
    return result


def stacked(times: Sequence[Points]) -> Points:
    """Stack the timestamps of several statements, padded with zeros to one length.

    This keeps their order, because timestamps of two statements differ at a position in a sequence
    before either of them ends.
    """
    length = max(time.shape[1] for time in times)
    return np.concatenate([np.pad(time, ((0, 0), (0, length - time.shape[1]))) for time in times])


def ranks(rows: Points) -> Points:
    """Rank the rows lexicographically; equal rows have equal ranks: shape (count,)."""
    if not rows.shape[1]:
        return np.zeros(len(rows), np.int64)
    order = np.lexsort(rows.T[::-1])
    sorted_rows = rows[order]
    steps = np.ones(len(rows), np.int64)
    steps[1:] = (sorted_rows[1:] != sorted_rows[:-1]).any(axis=1)
    result = np.empty(len(rows), np.int64)
    result[order] = np.cumsum(steps)
    return result
