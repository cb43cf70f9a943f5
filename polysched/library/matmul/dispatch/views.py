"""Forms of numpy arrays as kernel arrays: in place, transposed in place, or by a copy.

A view is used in place if its strides are positive and no two elements share memory. Its strides
are then constants of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from polysched.ir.core.strides import are_apart
from polysched.library.matmul.dispatch.shapes import NumpyArray, Shape
from polysched.library.matmul.kernel.operands import Recipe, Strides
from polysched.runtime.array_layout import ALIGNED, C_CONTIGUOUS, F_CONTIGUOUS

Preparation: TypeAlias = Callable[[NumpyArray], NumpyArray]


class Operand(NamedTuple):
    """The properties of an operand, or of a result, that dispatch depends on.

    Attributes:
        flags: numpy's ``flags.num``.
        strides: numpy's strides, in bytes; may be None if the flags say that it is contiguous.
        recipe: how a computed operand is computed; None for an array.
    """

    dtype: np.dtype[Any]
    shape: Shape
    flags: int
    strides: Strides | None = None
    recipe: Recipe | None = None


def operand_of(array: NumpyArray) -> Operand:
    """Describe an array as an operand."""
    return Operand(array.dtype, array.shape, array.flags.num, array.strides)


class Form(NamedTuple):
    """How an operand is brought into the form of a kernel's array.

    Attributes:
        prepare: makes the kernel's array; None if the operand is passed unchanged.
        is_transposed: whether the kernel's array is the transposed operand.
        is_copy: whether ``prepare`` copies.
        strides: the strides of the kernel's array in elements; None for no gaps.
    """

    prepare: Preparation | None
    is_transposed: bool = False
    is_copy: bool = False
    strides: Strides | None = None

    def transposed(self, shape: Shape) -> Form:
        """The form of the transposed result, for a result of this form and shape."""
        *outer, down, across = self.strides or _without_gaps(shape)
        view = partial(_transposed_view, shape=shape)
        return Form(view, is_transposed=True, strides=(*outer, across, down))


def form_of(operand: Operand, shape: Shape) -> Form:
    """The form of an operand or result as a kernel's array of a shape, matrix dimensions last."""
    is_aligned = bool(operand.flags & ALIGNED)
    if is_aligned and operand.flags & C_CONTIGUOUS:
        return Form(None if operand.shape == shape else partial(np.reshape, shape=shape))
    if is_aligned and operand.flags & F_CONTIGUOUS and operand.shape == shape and len(shape) == 2:
        return Form(np.transpose, is_transposed=True)
    strides = _strides(operand, shape) if is_aligned and operand.strides is not None else None
    if strides is not None:
        *outer, down, across = strides
        is_row = shape[-1] > 1 and across == 1
        if shape[-2] > 1 and down < across and not is_row:
            swapped = (*outer, across, down)
            return Form(partial(_transposed_view, shape=shape), is_transposed=True, strides=swapped)
        return Form(partial(np.reshape, shape=shape), strides=strides)
    if operand.shape == shape:
        return Form(partial(np.array, order="C"), is_copy=True)
    return Form(partial(_copied, shape=shape), is_copy=True)


def _strides(operand: Operand, shape: Shape) -> Strides | None:
    """The strides in elements with which the operand's memory has another shape.

    None if there are no such strides, or if two elements may share memory.
    """
    assert operand.strides is not None
    size = operand.dtype.itemsize
    if any(stride % size for stride in operand.strides):
        return None
    strides = joined([stride // size for stride in operand.strides], operand.shape, shape)
    return strides if strides is not None and are_apart(shape, strides) else None


def joined(strides: list[int], shape: Shape, target: Shape) -> Strides | None:
    """The strides of an array reshaped to ``target`` without a copy, by collapsing dimensions.

    Dimensions of extent 1 get the strides of an array without gaps. None if dimensions that would
    be collapsed have a gap between them.
    """
    source = [pair for pair in zip(shape, strides, strict=True) if pair[0] != 1]
    result: list[int] = []
    reach = 1
    for extent in reversed(target):
        stride, taken = reach, 1
        while taken < extent:
            if not source:
                return None
            count, step = source.pop()
            if taken == 1:
                stride = step
            elif step != stride * taken:
                return None
            taken *= count
        if taken != extent:
            return None
        result.append(stride)
        reach = max(reach, stride * extent)
    return None if source else tuple(reversed(result))


def _without_gaps(shape: Shape) -> Strides:
    return tuple(prod(shape[at + 1 :]) for at in range(len(shape)))


def _transposed_view(array: NumpyArray, shape: Shape) -> NumpyArray:
    return array.reshape(shape).swapaxes(-1, -2)


def _copied(array: NumpyArray, shape: Shape) -> NumpyArray:
    return np.array(array, order="C").reshape(shape)
