"""Dimensions of an array that a reduction keeps, and those over which it reduces."""

from __future__ import annotations

from polysched.frontends.python.scope.array_values import ArrayValue, Operand, Subscripts
from polysched.frontends.python.values.value import Value
from polysched.ir.expr.expressions import Constant


def split_shape(shape: Subscripts, axes: tuple[int, ...]) -> tuple[Subscripts, Subscripts]:
    """The extents that a reduction keeps, and those over which it reduces."""
    kept = tuple(extent for axis, extent in enumerate(shape) if axis not in axes)
    return kept, tuple(shape[axis] for axis in sorted(axes))


def joined_indices(outer: Subscripts, inner: Subscripts, axes: tuple[int, ...]) -> Subscripts:
    """The indices in the array, from those that are kept and those that are reduced."""
    kept, reduced = iter(outer), iter(inner)
    return tuple(
        next(reduced) if axis in axes else next(kept) for axis in range(len(outer) + len(inner))
    )


def with_ones(result: Operand, axes: tuple[int, ...]) -> Operand:
    """A result with an extent of 1 for every dimension that was reduced (``keepdims=True``)."""
    rank = len(axes) + (result.rank if isinstance(result, ArrayValue) else 0)
    if isinstance(result, Value):
        return ArrayValue((Constant(1),) * rank, result.dtype, lambda _: result)
    extents = iter(result.shape)
    shape = tuple(Constant(1) if axis in axes else next(extents) for axis in range(rank))
    at = result.at
    return ArrayValue(
        shape,
        result.dtype,
        lambda indices: at(tuple(i for axis, i in enumerate(indices) if axis not in axes)),
    )
