"""The integer points of a set as rows of numbers, and affine functions on many points at once."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import islpy as isl
import numpy as np
from numpy.typing import NDArray

from polysched.errors import CallError, KernelError
from polysched.ir.affine import from_pw_aff, from_set
from polysched.ir.expressions import Constant, Expression, Index, Operation, Parameter
from polysched.ir.extrema import greatest, least
from polysched.ir.limits import limited
from polysched.ir.operators import Operator

Points: TypeAlias = NDArray[np.int64]

# Points of the bounding box looked at in one go: bounds the memory, keeps numpy's loops long.
_CHUNK = 1 << 16


def points(domain: isl.Set, parameters: Mapping[str, int]) -> Points:
    """All points of ``domain`` in lexicographic order: shape (count, dimensions).

    The cost is that of the bounding box, which for a set skewed far is larger than the set.

    Raises:
        KernelError: the set is unbounded, or isl gives up on it.
    """
    rank = domain.dim(isl.dim_type.set)
    names = [f"x{position}" for position in range(rank)]
    with limited(KernelError, "the points of a set cannot be listed"):
        fixed = at_parameters(domain, parameters)
        if fixed.is_empty():
            return np.empty((0, rank), np.int64)
        lower, shape = _bounding_box(fixed)
        for position, name in enumerate(names):
            fixed = fixed.set_dim_name(isl.dim_type.set, position, name)
        condition = from_set(fixed)
    total = int(np.prod(shape, dtype=object))
    found = []
    for start in range(0, total, _CHUNK):
        flat = np.arange(start, min(start + _CHUNK, total))
        offsets = np.unravel_index(flat, shape) if rank else ()
        columns = [offset + first for offset, first in zip(offsets, lower, strict=True)]
        rows = np.stack(columns, axis=1) if rank else np.empty((1, 0), np.int64)
        inside = evaluate_many(condition, dict(zip(names, columns, strict=True)))
        found.append(rows[np.broadcast_to(inside, len(rows))])
    return np.concatenate(found)


def box_size(domain: isl.Set, parameters: Mapping[str, int]) -> int:
    """How many points :func:`points` looks at: those of the bounding box.

    Raises:
        KernelError: the set is unbounded, or isl gives up on it.
    """
    with limited(KernelError, "the points of a set cannot be counted"):
        fixed = at_parameters(domain, parameters)
        return 0 if fixed.is_empty() else math.prod(_bounding_box(fixed)[1])


def values(function: isl.PwAff, where: Points, parameters: Mapping[str, int]) -> Points:
    """The values of ``function`` at points of its domain: shape (count,)."""
    names = [
        str(function.get_dim_name(isl.dim_type.in_, position))
        for position in range(function.dim(isl.dim_type.in_))
    ]
    variables: dict[str, Any] = {**parameters, **dict(zip(names, where.T, strict=True))}
    result = evaluate_many(from_pw_aff(function), variables)
    return np.broadcast_to(np.asarray(result, np.int64), len(where))


def evaluate_many(expression: Expression, variables: Mapping[str, Any]) -> Any:
    """A quasi-affine expression or condition on int64 arrays of one shape, or on Python's integers.

    Python's integers are exact at any length; those of arrays wrap.

    Raises:
        KernelError: the expression is not quasi-affine.
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
    """The part of ``domain`` at the given values of its parameters, which it no longer depends on.

    Raises:
        CallError: a parameter has no value.
    """
    count = domain.dim(isl.dim_type.param)
    for position in range(count):
        name = str(domain.get_dim_name(isl.dim_type.param, position))
        if name not in parameters:
            raise CallError(f"parameter '{name}' has no value; pass one")
        domain = domain.fix_val(isl.dim_type.param, position, isl.Val(int(parameters[name])))
    return domain.project_out(isl.dim_type.param, 0, count)


def _bounding_box(domain: isl.Set) -> tuple[list[int], list[int]]:
    lower, shape = [], []
    for position in range(domain.dim(isl.dim_type.set)):
        smallest, largest = least(domain, position), greatest(domain, position)
        if smallest is None or largest is None:
            raise KernelError(f"{domain} is unbounded in dimension {position}; cannot enumerate it")
        lower.append(smallest)
        shape.append(largest - smallest + 1)
    return lower, shape
