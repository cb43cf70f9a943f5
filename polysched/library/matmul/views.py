"""How the memory of a numpy array is the array of a kernel: as it lies, transposed, or by a copy.

A view is taken as it lies if its strides are positive and tell its elements apart. They then are
numbers in the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from polysched.ir.strides import are_apart
from polysched.library.matmul.operands import Strides
from polysched.library.matmul.recipe import Recipe
from polysched.library.matmul.shapes import NumpyArray, Shape
from polysched.runtime.numpy_memory import ALIGNED, C_CONTIGUOUS, F_CONTIGUOUS

Preparation: TypeAlias = Callable[[NumpyArray], NumpyArray]


class Operand(NamedTuple):
    """All that a route follows from of one array: ``flags`` are numpy's ``flags.num``.

    ``strides`` are numpy's, in bytes; None will do if the flags say that it is contiguous. An
    operand with a ``recipe`` is no array, but computed.
    """

    dtype: np.dtype[Any]
    shape: Shape
    flags: int
    strides: Strides | None = None
    recipe: Recipe | None = None


def operand_of(array: NumpyArray) -> Operand:
    """The operand that an array is."""
    return Operand(array.dtype, array.shape, array.flags.num, array.strides)


class Form(NamedTuple):
    """How an operand gets the form of a kernel's array; ``prepare`` is None where it has it.

    ``is_transposed`` says that it is the array of a transposed operand, ``is_copy`` that it has
    memory of its own, ``strides`` are those of the kernel's array, in elements, None of one without
    gaps.
    """

    prepare: Preparation | None
    is_transposed: bool = False
    is_copy: bool = False
    strides: Strides | None = None

    def turned(self, shape: Shape) -> Form:
        """The form, as a transposed result, of one that has this form and this shape as it lies."""
        *outer, down, across = self.strides or _without_gaps(shape)
        view = partial(_turned, shape=shape)
        return Form(view, is_transposed=True, strides=(*outer, across, down))


def form_of(operand: Operand, shape: Shape) -> Form:
    """The form of an operand, or of a result, for a kernel's array of a shape, which has the
    matrix's last.
    """
    is_aligned = bool(operand.flags & ALIGNED)
    if is_aligned and operand.flags & C_CONTIGUOUS:
        return Form(None if operand.shape == shape else partial(np.reshape, shape=shape))
    if is_aligned and operand.flags & F_CONTIGUOUS and operand.shape == shape and len(shape) == 2:
        return Form(np.transpose, is_transposed=True)
    found = _strides(operand, shape) if is_aligned and operand.strides is not None else None
    if found is not None:
        *outer, down, across = found
        is_row = shape[-1] > 1 and across == 1
        if shape[-2] > 1 and down < across and not is_row:
            turned = (*outer, across, down)
            return Form(partial(_turned, shape=shape), is_transposed=True, strides=turned)
        return Form(partial(np.reshape, shape=shape), strides=found)
    if operand.shape == shape:
        return Form(partial(np.array, order="C"), is_copy=True)
    return Form(partial(_copied, shape=shape), is_copy=True)


def _strides(operand: Operand, shape: Shape) -> Strides | None:
    """The strides, in elements, that the operand's memory has with another shape.

    None if no strides give it that shape, or elements may not be told apart by their places.
    """
    assert operand.strides is not None
    size = operand.dtype.itemsize
    if any(stride % size for stride in operand.strides):
        return None
    found = joined([stride // size for stride in operand.strides], operand.shape, shape)
    return found if found is not None and are_apart(shape, found) else None


def joined(strides: list[int], shape: Shape, target: Shape) -> Strides | None:
    """The strides of a shape whose dimensions are those of another, some joined, without a copy.

    Dimensions of one index, which have no neighbors, get strides as if there were no gaps. None
    if dimensions that are to be joined do not follow one another.
    """
    source = [one for one in zip(shape, strides, strict=True) if one[0] != 1]
    found: list[int] = []
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
        found.append(stride)
        reach = max(reach, stride * extent)
    return None if source else tuple(reversed(found))


def _without_gaps(shape: Shape) -> Strides:
    return tuple(prod(shape[at + 1 :]) for at in range(len(shape)))


def _turned(array: NumpyArray, shape: Shape) -> NumpyArray:
    return array.reshape(shape).swapaxes(-1, -2)


def _copied(array: NumpyArray, shape: Shape) -> NumpyArray:
    return np.array(array, order="C").reshape(shape)
