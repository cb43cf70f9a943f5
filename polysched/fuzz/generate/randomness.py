"""Random choices from a source of random integers: a generator or hypothesis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

Integers: TypeAlias = Callable[[int, int], int]
"""``integers(low, high)``: a random integer from low to high, both included."""

T = TypeVar("T")


def choose(integers: Integers, options: Sequence[T]) -> T:
    """Choose an option; put the simplest first, because hypothesis shrinks to it."""
    return options[integers(0, len(options) - 1)]


def chance(integers: Integers, part: int, whole: int) -> bool:
    """Return True with probability ``part / whole``."""
    return integers(1, whole) > whole - part


def shuffled(integers: Integers, items: Sequence[T]) -> list[T]:
    """Return the items in a random order."""
    left = list(items)
    return [left.pop(integers(0, len(left) - 1)) for _ in items]
