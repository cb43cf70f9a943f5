"""Orders of axes: what they make of a shape, and the simplest one that moves the same elements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from operator import index

from polysched.errors import CallError


@dataclass(frozen=True)
class Movement:
    """A row-major array of ``shape`` whose dimension ``order[d]`` becomes dimension ``d``."""

    shape: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def is_copy(self) -> bool:
        """Whether no element changes its place."""
        return self.order == tuple(range(len(self.order)))


def checked_axes(axes: Sequence[int], dimensions: int) -> tuple[int, ...]:
    """The order of axes that ``axes`` says, none of them negative.

    Raises:
        CallError: it is no order of so many axes.
    """
    try:
        given = [dimensions] if isinstance(axes, (Set, Mapping)) else [index(axis) for axis in axes]
    except TypeError:
        given = [dimensions]
    order = tuple(axis + dimensions if axis < 0 else axis for axis in given)
    if sorted(order) != list(range(dimensions)) or any(isinstance(axis, bool) for axis in axes):
        raise CallError(
            f"transpose: axes={axes!r}; expected each of the axes 0 to {dimensions - 1} once, "
            f"since the array has {dimensions} dimensions"
        )
    return order


def simplest(shape: Sequence[int], order: Sequence[int]) -> Movement:
    """The same movement of elements with as few dimensions as can be.

    Dimensions of one index are left out, neighbors that stay neighbors are one dimension.
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
