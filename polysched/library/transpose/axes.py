"""Axis permutations: check them, and simplify them by collapsing dimensions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from operator import index

from polysched.errors import CallError


@dataclass(frozen=True)
class Movement:
    """An axis permutation: dimension ``order[d]`` of a row-major array becomes dimension ``d``."""

    shape: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def is_copy(self) -> bool:
        """Whether the permutation is the identity."""
        return self.order == tuple(range(len(self.order)))


def checked_axes(axes: Sequence[int], dimensions: int) -> tuple[int, ...]:
    """Normalize ``axes`` to a permutation of non-negative axes."""
    try:
        is_unordered = isinstance(axes, (Set, Mapping))
        numbers = [dimensions] if is_unordered else [index(axis) for axis in axes]
    except TypeError:
        numbers = [dimensions]  # out of range, so it is refused below
    order = tuple(axis + dimensions if axis < 0 else axis for axis in numbers)
    if sorted(order) != list(range(dimensions)) or any(isinstance(axis, bool) for axis in axes):
        raise CallError(
            f"transpose: axes={axes!r}; expected each of the axes 0 to {dimensions - 1} once, "
            f"since the array has {dimensions} dimensions"
        )
    return order


def simplest(shape: Sequence[int], order: Sequence[int]) -> Movement:
    """The equivalent permutation with the fewest dimensions.

    Dimensions of extent 1 are dropped. Adjacent dimensions that stay adjacent are collapsed.
    """
    kept = [axis for axis in order if shape[axis] != 1]
    runs: list[list[int]] = []
    rank = {axis: position for position, axis in enumerate(sorted(kept))}
    for axis in kept:
        if runs and rank[axis] == rank[runs[-1][-1]] + 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    by_source = sorted(runs)
    return Movement(
        tuple(math.prod(shape[axis] for axis in run) for run in by_source),
        tuple(by_source.index(run) for run in runs),
    )
