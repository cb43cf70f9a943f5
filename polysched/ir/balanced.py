"""Joining many things two by two, as a balanced tree.

isl copies what it adds to: a thousand parts, added one after the other, take a million copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

_Part = TypeVar("_Part")


def balanced(join: Callable[[_Part, _Part], _Part], parts: Iterable[_Part]) -> _Part:
    """``join`` applied to neighbors until one part is left; at least one part is given.

    Args:
        join: associative; it keeps the order of the parts.
    """
    left = list(parts)
    while len(left) > 1:
        pairs = zip(left[::2], left[1::2], strict=False)
        left = [join(*pair) for pair in pairs] + left[len(left) & ~1 :]
    return left[0]
