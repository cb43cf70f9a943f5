"""Choose random memory layouts of arguments: padded rows, gaps, column-major order."""

from __future__ import annotations

from dataclasses import replace

from polysched.fuzz.generate.randomness import Integers, chance, choose
from polysched.fuzz.generate.sketch import ArraySketch
from polysched.ir.core.kernel import Role
from polysched.ir.core.packing import Rows
from polysched.ir.expr.affine import weighted_sum
from polysched.ir.expr.expressions import Constant, Expression


def laid_out(integers: Integers, array: ArraySketch, *, strided: bool) -> ArraySketch:
    """Give an argument array a random layout; leave other arrays alone.

    Args:
        strided: whether the array may have strides.
    """
    if array.role is Role.TEMPORARY or not array.shape:
        return array
    if array.dtype.is_odd_width:
        return replace(array, rows=choose(integers, list(Rows)))
    if not strided or not chance(integers, 2, 3):
        return array
    return replace(array, strides=_strides(integers, array.shape))


def _strides(integers: Integers, shape: tuple[Expression, ...]) -> tuple[Expression, ...] | None:
    """Generate row-major or column-major strides, with or without gaps between rows.

    The result is None if a stride would be a product of parameters.
    """
    inner_first = list(range(len(shape)))[:: choose(integers, [-1, 1])]
    stride: Expression | None = Constant(choose(integers, [1, 1, 1, 2, 3]))
    strides: dict[int, Expression] = {}
    for dimension in inner_first:
        if stride is None:
            return None
        strides[dimension] = stride
        stride = _longer(stride, shape[dimension], choose(integers, [0, 1, 5]))
    return tuple(strides[dimension] for dimension in range(len(shape)))


def _longer(stride: Expression, extent: Expression, gap: int) -> Expression | None:
    """``stride * extent + gap``; None if that is not affine."""
    match stride, extent:
        case Constant(value=factor), Constant(value=other):
            return Constant(factor * other + gap)
        case (Constant(value=factor), other) | (other, Constant(value=factor)):
            return weighted_sum([(int(factor), other)], gap)
    return None
