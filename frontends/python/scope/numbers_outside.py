"""Arrays outside of a function whose elements are constants of its kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from polysched.errors import KernelError
from polysched.frontends.python.source.annotations import require_real

MOST_ELEMENTS = 256
"""Elements of an array outside of the function, each of which is stored by a statement."""


def array_of_numbers(value: Any) -> np.ndarray[Any, Any] | None:
    """The array that an object outside of a function is, or a list or tuple of numbers; or None."""
    if isinstance(value, list | tuple):
        if not value or not _is_regular(value):
            return None
        value = np.array(value)
    if not isinstance(value, np.ndarray) or not value.ndim or value.dtype.kind not in "biufc":
        return None
    require_real(value.dtype)
    if not 1 <= value.size <= MOST_ELEMENTS:
        raise KernelError(
            f"this array outside of the function has {value.size} elements; expected 1 to "
            f"{MOST_ELEMENTS}: pass it as an argument"
        )
    return value


def _is_regular(value: Any) -> bool:
    """Whether nested lists are numbers of one Python type, in rows of one length."""
    parts = [value]
    while all(isinstance(part, list | tuple) for part in parts):
        if len({len(part) for part in parts}) != 1:
            return False
        parts = [item for part in parts for item in part]
    return len({type(part) for part in parts}) == 1 and type(parts[0]) in (bool, int, float)
