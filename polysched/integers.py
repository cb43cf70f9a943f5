"""Validation of integer arguments: Python's and numpy's integers, but not bool or float."""

from __future__ import annotations

from numbers import Integral


def as_integer(value: object) -> int | None:
    """Convert 4 or ``np.int64(4)`` to an int; None for any other type, such as True or 4.0."""
    if type(value) is int:
        return value
    if isinstance(value, bool) or not isinstance(value, Integral):
        return None
    return int(value)
