"""What counts as an integer where a number is given: Python's own, and numpy's like them."""

from __future__ import annotations

from numbers import Integral


def as_integer(value: object) -> int | None:
    """Python's integer that ``value`` is: 4, or ``np.int64(4)``; None if it is none, as True and
    4.0 are, which only equal one.
    """
    if type(value) is int:
        return value
    if isinstance(value, bool) or not isinstance(value, Integral):
        return None
    return int(value)
