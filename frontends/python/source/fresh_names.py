"""Names for variables that a function does not have."""

from __future__ import annotations

from collections.abc import Container
from itertools import count


def fresh_name(hint: str, taken: Container[str]) -> str:
    """A name that is not taken: the hint, or the hint with the least number from 2 on."""
    if hint not in taken:
        return hint
    return next(name for number in count(2) if (name := f"{hint}_{number}") not in taken)
