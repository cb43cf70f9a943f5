"""How the arguments of random kernels lie in memory: packed rows, gaps, columns first."""

from __future__ import annotations

from dataclasses import replace

from polysched.fuzz.randomness import Integers, chance, choose
from polysched.fuzz.sketch import ArraySketch
from polysched.ir.affine import weighted_sum
from polysched.ir.expressions import Constant, Expression
from polysched.ir.kernel import Role
from polysched.ir.packing import Rows


def laid_out(integers: Integers, array: ArraySketch, *, strided: bool) -> ArraySketch:
    """The array with a layout, if it is an argument.

    Args:
        strided: whether it may have strides.
    """
    if array.role is Role.TEMPORARY or not array.shape:
        return array
    if array.dtype.is_odd:
        return replace(array, rows=choose(integers, list(Rows)))
    if not strided or not chance(integers, 2, 3):
        return array
    return replace(array, strides=_strides(integers, array.shape))


def _strides(integers: Integers, shape: tuple[Expression, ...]) -> tuple[Expression, ...] | None:
    """Strides that keep elements apart: rows first or columns first, with gaps or without.

    None if one would be a product of parameters.
    """
    inwards = list(range(len(shape)))[:: choose(integers, [-1, 1])]
    reached: Expression | None = Constant(choose(integers, [1, 1, 1, 2, 3]))
    strides: dict[int, Expression] = {}
    for dimension in inwards:
        if reached is None:
            return None
        strides[dimension] = reached
        reached = _longer(reached, shape[dimension], choose(integers, [0, 1, 5]))
    return tuple(strides[dimension] for dimension in range(len(shape)))


def _longer(stride: Expression, extent: Expression, gap: int) -> Expression | None:
    """``stride * extent + gap``; None if that is not affine."""
    match stride, extent:
        case Constant(value=one), Constant(value=other):
            return Constant(one * other + gap)
        case (Constant(value=one), other) | (other, Constant(value=one)):
            return weighted_sum([(int(one), other)], gap)
    return None
