"""Random choices from any source of random integers: a generator's, or hypothesis's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

Integers: TypeAlias = Callable[[int, int], int]
"""``integers(low, high)``: a random integer from low to high, both included."""

T = TypeVar("T")


def choose(integers: Integers, options: Sequence[T]) -> T:
    """One of the options; the simplest should stand first, which hypothesis shrinks to."""
    return options[integers(0, len(options) - 1)]


def chance(integers: Integers, part: int, whole: int) -> bool:
    """True in ``part`` of ``whole`` cases."""
    return integers(1, whole) > whole - part


def shuffled(integers: Integers, items: Sequence[T]) -> list[T]:
    """The items in a random order."""
    left = list(items)
    return [left.pop(integers(0, len(left) - 1)) for _ in items]
