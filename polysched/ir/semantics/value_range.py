"""Run-time check that the elements of an index array are in the declared range."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysched.errors import CallError


def require_values(
    subject: str, values: NDArray[Any], lower: int, upper: int, declared: str
) -> None:
    """Check that every value v satisfies ``lower <= v < upper``, in one pass for each end.

    Args:
        subject: the array in the message: ``array 'idx'``.
        declared: the declared range in the message: ``(0, m)``.
    """
    if values.size == 0 or (lower <= int(values.min()) and int(values.max()) < upper):
        return
    outside = np.nonzero(_outside(values.ravel(), lower, upper))[0][0]
    indices = np.unravel_index(outside, values.shape)
    position = ", ".join(str(int(index)) for index in indices)
    where = f" at [{position}]" if position else ""
    raise CallError(
        f"{subject} holds {int(values.flat[outside])}{where}; expected values from {lower} to "
        f"{upper - 1}: values={declared} is declared, or follows from its subscripts"
        if lower < upper
        else f"{subject} holds {int(values.flat[outside])}{where}; its declared range of values, "
        f"{declared}, is empty for these parameters: expected no elements"
    )


def _outside(values: NDArray[Any], lower: int, upper: int) -> NDArray[np.bool_]:
    """Mask of the values out of range; the ends may exceed the range of the values' type."""
    limits = np.iinfo(values.dtype)
    nothing = np.zeros(values.shape, np.bool_)
    if lower > limits.max or upper <= limits.min:
        return ~nothing
    below = values < lower if lower > limits.min else nothing
    above = values >= upper if upper <= limits.max else nothing
    return below | above
