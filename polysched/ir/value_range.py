"""Checking that the values of an index array lie in the range that it is declared with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysched.errors import CallError


def require_values(
    subject: str, values: NDArray[Any], lower: int, upper: int, declared: str
) -> None:
    """Check that every value v has ``lower <= v < upper``: one pass for each end.

    Args:
        subject: what the values are, for the message: ``array 'idx'``.
        declared: the range as it is declared, for the message: ``(0, m)``.

    Raises:
        CallError: a value lies outside; the message names the first one and its position.
    """
    if values.size == 0 or (lower <= int(values.min()) and int(values.max()) < upper):
        return
    outside = np.nonzero(_outside(values.ravel(), lower, upper))[0][0]
    position = ", ".join(str(int(one)) for one in np.unravel_index(outside, values.shape))
    place = f" at [{position}]" if position else ""
    raise CallError(
        f"{subject} holds {int(values.flat[outside])}{place}; expected values from {lower} to "
        f"{upper - 1}, as it is declared with values={declared}"
        if lower < upper
        else f"{subject} holds {int(values.flat[outside])}{place}; its declared range of values, "
        f"{declared}, is empty for these parameters: expected no elements"
    )


def _outside(values: NDArray[Any], lower: int, upper: int) -> NDArray[np.bool_]:
    """Which values lie outside; the ends need not fit the type of the values."""
    limits = np.iinfo(values.dtype)
    nothing = np.zeros(values.shape, np.bool_)
    if lower > limits.max or upper <= limits.min:
        return ~nothing
    below = values < lower if lower > limits.min else nothing
    above = values >= upper if upper <= limits.max else nothing
    return below | above
