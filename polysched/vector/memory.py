"""Memory of the vector IR interpreter: arrays at linear addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polysched.errors import KernelError
from polysched.ir.core.data_dependent import FARTHEST
from polysched.ir.core.kernel import Array
from polysched.ir.expr.linear_form import Intervals
from polysched.ir.semantics.scalar import Scalar
from polysched.vector.classify import literal_strides, row_major


@dataclass(frozen=True, eq=False)
class LinearArray:
    """An array whose elements are addressed by their distance from the first element.

    Attributes:
        elements: all elements in row-major order.
        numbers: from a distance in elements, or in bits if the array is packed, to the row-major
            number of the element; None if distance and number are equal.
        strides: the distances between consecutive indices of each dimension.
    """

    array: Array
    elements: npt.NDArray[Any]
    numbers: dict[int, int] | None
    strides: tuple[int, ...]

    @staticmethod
    def of(array: Array, values: npt.NDArray[Any], parameters: Intervals) -> LinearArray:
        """Number the elements of an array.

        Args:
            array: the declaration of the array.
            values: a contiguous array, which shares its memory with the result.
            parameters: the value of each parameter as an interval.
        """
        strides = tuple([stride or 0 for stride in literal_strides(array, parameters)])
        numbers = None
        if array.is_packed or strides != row_major(values.shape, 1, int.__mul__):
            element_distances = np.zeros(values.shape, np.int64)
            for dimension, stride in enumerate(strides):
                shape = [1] * len(strides)
                shape[dimension] = -1
                element_distances += stride * np.arange(values.shape[dimension]).reshape(shape)
            numbers = {
                int(distance): number for number, distance in enumerate(element_distances.ravel())
            }
        return LinearArray(array, values.reshape(-1), numbers, strides)

    def read(self, distance: int) -> Scalar:
        """Read the element at a distance: an integer, a truth value or a numpy float.

        The distance of an absent element is below `FARTHEST`; its value is 0.
        """
        if distance < FARTHEST:
            element = self.elements.dtype.type(0)
        else:
            element = self.elements[self._number(distance)]
        return element if self.array.dtype.is_float else element.item()

    def write(self, distance: int, value: Scalar) -> None:
        """Write the element at a distance, if there is one. Raises as `read`."""
        if distance >= FARTHEST:
            self.elements[self._number(distance)] = value

    def _number(self, distance: int) -> int:
        if self.numbers is not None and distance in self.numbers:
            return self.numbers[distance]
        if self.numbers is None and 0 <= distance < len(self.elements):
            return distance
        raise KernelError(
            f"array '{self.array.name}' has no element at distance {distance} from the first one"
        )
