"""Operands as contractions want them: one type of elements, each label once, nothing broadcast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from polysched.errors import CallError
from polysched.frontends.einsum.subscripts import Subscripts

NumpyArray: TypeAlias = np.ndarray[Any, Any]
Labels: TypeAlias = tuple[str | int, ...]

_KINDS = "fiu"


@dataclass(frozen=True)
class View:
    """How an operand is looked at.

    Attributes:
        labels: of the dimensions that are left, each once.
        dropped: dimensions of one element that another operand's are many of.
        diagonals: pairs of dimensions, after that, of which one after the other is taken.
    """

    labels: Labels
    dropped: tuple[int, ...] = ()
    diagonals: tuple[tuple[int, int], ...] = ()

    def of(self, array: NumpyArray) -> NumpyArray:
        """The view of an array; nothing is copied."""
        if self.dropped:
            chosen = tuple(0 if axis in self.dropped else slice(None) for axis in range(array.ndim))
            array = array[(*chosen, ...)]  # the dots: an array, where no dimension is left, too
        for first, second in self.diagonals:
            diagonal = np.diagonal(array, axis1=first, axis2=second)
            if array.flags.writeable:  # as numpy.einsum has it; np.diagonal's are read-only
                diagonal.flags.writeable = True
            array = np.moveaxis(diagonal, -1, first)
        return array


def element_type(arrays: Sequence[NumpyArray]) -> np.dtype[Any]:
    """The type in which a contraction is computed, and that its result has: numpy's promotion.

    Raises:
        CallError: it is none that kernels compute with.
    """
    try:
        found = np.result_type(*arrays)
    except TypeError as error:
        types = ", ".join(str(array.dtype) for array in arrays)
        raise CallError(
            f"einsum: no type holds elements of all of {types}; expected float32, float64 or "
            "integers"
        ) from error
    if found.kind not in _KINDS or (found.kind == "f" and found.itemsize not in (4, 8)):
        raise CallError(f"einsum: elements of type {found}; expected float32, float64 or integers")
    return found


def extents(subscripts: Subscripts, shapes: Sequence[tuple[int, ...]]) -> dict[str | int, int]:
    """The extent of each label.

    Raises:
        CallError: two dimensions of one label differ, and neither is 1, or both are of one
            operand.
    """
    found: dict[str | int, int] = {}
    where: dict[str | int, int] = {}
    for number, (labels, shape) in enumerate(zip(subscripts.operands, shapes, strict=True)):
        own: dict[str | int, int] = {}
        for label, extent in zip(labels, shape, strict=True):
            if own.setdefault(label, extent) != extent:
                raise CallError(
                    f"einsum: label '{label}' has {own[label]} and {extent} elements in operand "
                    f"{number}; expected as many, for a diagonal"
                )
            known = found.get(label, 1)
            if 1 not in (known, extent) and known != extent:
                name = f"label '{label}'" if isinstance(label, str) else "a dimension of '...'"
                raise CallError(
                    f"einsum: {name} has {known} elements in operand {where[label]} and {extent} "
                    f"in operand {number}; expected as many, or one"
                )
            if known == 1:
                found[label], where[label] = extent, number
    return found


def view_of(labels: Labels, shape: tuple[int, ...], sizes: Mapping[str | int, int]) -> View:
    """How an operand with these labels and this shape is looked at."""
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
