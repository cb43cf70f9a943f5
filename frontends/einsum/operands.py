"""Normalize einsum operands: a common element type, each label once, no broadcast dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from polysched.errors import CallError, KernelError
from polysched.frontends.einsum.subscripts import Subscripts
from polysched.ir.expr.dtypes import DType, as_dtype

NumpyArray: TypeAlias = np.ndarray[Any, Any]
Labels: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True)
class View:
    """A view of an operand in which each label occurs once and nothing is broadcast.

    Attributes:
        labels: the labels of the dimensions of the view.
        dropped: dimensions of one element that are broadcast; the view leaves them out.
        diagonals: pairs of dimensions, counted after dropping, whose diagonal is taken, in order.
    """

    labels: Labels
    dropped: tuple[int, ...] = ()
    diagonals: tuple[tuple[int, int], ...] = ()

    def of(self, array: NumpyArray) -> NumpyArray:
        """Apply the view to an array, without a copy."""
        if self.dropped:
            chosen = tuple(0 if axis in self.dropped else slice(None) for axis in range(array.ndim))
            array = array[(*chosen, ...)]  # `...` keeps a zero-dimensional result an array
        for first, second in self.diagonals:
            diagonal = np.diagonal(array, axis1=first, axis2=second)
            if array.flags.writeable:  # np.diagonal is read-only, numpy.einsum's result is not
                diagonal.flags.writeable = True
            array = np.moveaxis(diagonal, -1, first)
        return array


class ElementTypes(NamedTuple):
    """The type that the operands are converted to, and the type of the result."""

    operands: np.dtype[Any]
    result: np.dtype[Any]


def element_types(arrays: Sequence[NumpyArray], requested: DType | None) -> ElementTypes:
    """The types of a contraction, by numpy's promotion rules.

    A requested type is the type of both, as in numpy. Operands of a half type are not converted to
    float32, because all their sums are float32.

    Raises:
        CallError: kernels do not support the type, or it does not hold the operands' values.
    """
    try:
        dtype = np.result_type(*arrays)
    except TypeError as error:
        types = ", ".join(str(array.dtype) for array in arrays)
        raise CallError(
            f"einsum: no type holds elements of all of {types}; expected float32, float64 or "
            "integers"
        ) from error
    try:
        element = as_dtype(dtype)
    except KernelError:
        element = None
    if element is None or not (element.is_float or element.is_integer):
        raise CallError(
            f"einsum: elements of type {dtype}; expected float32, float64, float16, bfloat16 or "
            "integers"
        )
    if requested is None:
        return ElementTypes(dtype, dtype)
    result = None if requested.is_odd_width else requested.numpy()
    if result is None or not np.can_cast(dtype, result, "safe"):
        raise CallError(
            f"einsum: dtype is {requested}, and the operands have elements of type {dtype}; "
            "expected a type that holds all their values"
        )
    keeps_half = element.is_half and requested == element.arithmetic
    return ElementTypes(dtype if keeps_half else result, result)


def extents(subscripts: Subscripts, shapes: Sequence[tuple[int, ...]]) -> dict[str | int, int]:
    """The extent of each label.

    Raises:
        CallError: two dimensions with one label differ, and neither extent is 1, or both belong
            to the same operand.
    """
    sizes: dict[str | int, int] = {}
    origin: dict[str | int, int] = {}
    for number, (labels, shape) in enumerate(zip(subscripts.operands, shapes, strict=True)):
        own: dict[str | int, int] = {}
        for label, extent in zip(labels, shape, strict=True):
            if own.setdefault(label, extent) != extent:
                raise CallError(
                    f"einsum: label '{label}' has {own[label]} and {extent} elements in operand "
                    f"{number}; expected equal extents for a diagonal"
                )
            known = sizes.get(label, 1)
            if 1 not in (known, extent) and known != extent:
                name = f"label '{label}'" if isinstance(label, str) else "a dimension of '...'"
                raise CallError(
                    f"einsum: {name} has {known} elements in operand {origin[label]} and {extent} "
                    f"in operand {number}; expected equal extents, or 1"
                )
            if known == 1:
                sizes[label], origin[label] = extent, number
    return sizes


def view_of(labels: Labels, shape: tuple[int, ...], sizes: Mapping[str | int, int]) -> View:
    """The view that normalizes an operand with these labels and this shape."""
    dropped = tuple(
        axis
        for axis, (label, extent) in enumerate(zip(labels, shape, strict=True))
        if extent == 1 and sizes[label] != 1
    )
    left = [label for axis, label in enumerate(labels) if axis not in dropped]
    diagonals = []
    position = 0
    while position < len(left):
        if left[position] in left[:position]:
            diagonals.append((left.index(left[position]), position))
            del left[position]
        else:
            position += 1
    return View(tuple(left), dropped, tuple(diagonals))
