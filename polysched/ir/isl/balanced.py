"""Balanced reduction of many isl objects.

isl copies the accumulated object at each step, so a linear reduction of n parts takes O(n^2)
copies: a million for a thousand parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

_Part = TypeVar("_Part")


def balanced(join: Callable[[_Part, _Part], _Part], parts: Iterable[_Part]) -> _Part:
    """Reduce parts with ``join`` as a balanced tree.

    Args:
        join: an associative function; the order of the parts is kept.
        parts: at least one.
    """
    remaining = list(parts)
    while len(remaining) > 1:
        pairs = zip(remaining[::2], remaining[1::2], strict=False)
        # With an odd number of parts the last one has no neighbor and stays as it is.
        remaining = [join(*pair) for pair in pairs] + remaining[len(remaining) & ~1 :]
    return remaining[0]
