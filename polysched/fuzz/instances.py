"""The instances of a kernel's statements at several sizes, as columns of numbers.

isl lists the points of the domains; nothing else is taken from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

import islpy as isl
import numpy as np

from polysched.ir.kernel import Kernel, Statement
from polysched.ir.points import Points, points

Sizes: TypeAlias = Mapping[str, int]

SIZE = "the number of the size"
"""The column of :attr:`Block.variables` that says which of the sizes; no parameter can be named so.
"""


@dataclass(frozen=True, eq=False)
class Block:
    """The instances of one statement at all sizes: rows from ``start`` on."""

    statement: Statement
    start: int
    variables: Mapping[str, Points]
    count: int

    @property
    def rows(self) -> slice:
        """Their place among all instances."""
        return slice(self.start, self.start + self.count)


@dataclass(frozen=True, eq=False)
class Instances:
    """All instances of a kernel at some sizes, statement by statement.

    Attributes:
        functions: the values of loops that were asked for before.
    """

    kernel: Kernel
    sizes: tuple[Sizes, ...]
    blocks: tuple[Block, ...]
    functions: dict[int, tuple[isl.PwAff, Points]] = field(default_factory=dict, repr=False)

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(block.count for block in self.blocks)

    def at(self, row: int) -> tuple[str, tuple[int, ...]]:
        """The statement and the index values of an instance."""
        block = next(one for one in self.blocks if one.start <= row < one.start + one.count)
        place = row - block.start
        indices = block.statement.indices
        return block.statement.name, tuple(int(block.variables[name][place]) for name in indices)


def list_instances(
    kernel: Kernel, ranges: Mapping[str, tuple[int, int]], most: int
) -> Instances | None:
    """The instances at all sizes in the given ranges, the smallest sizes first.

    Args:
        ranges: the least and the greatest value of each parameter.
        most: instances, of all sizes together; sizes beyond are left out.

    Returns:
        None if the smallest size has more instances already.
    """
    rows = {
        name: _points_within(statement.domain, kernel.parameters, ranges)
        for name, statement in kernel.statements.items()
    }
    sizes = _affordable(kernel.parameters, ranges, list(rows.values()), most)
    if not sizes:
        return None
    blocks, start = [], 0
    for name, statement in kernel.statements.items():
        block = _block(statement, kernel.parameters, rows[name], sizes, start)
        blocks.append(block)
        start += block.count
    named = tuple(dict(zip(kernel.parameters, size, strict=True)) for size in sizes)
    return Instances(kernel, named, tuple(blocks))


def _points_within(
    domain: isl.Set, parameters: Sequence[str], ranges: Mapping[str, tuple[int, int]]
) -> Points:
    """Rows of the parameters' values, then the indices': all sizes in one go."""
    for name in parameters:
        position = domain.find_dim_by_name(isl.dim_type.param, name)
        low, high = ranges[name]
        domain = domain.lower_bound_val(isl.dim_type.param, position, isl.Val(low))
        domain = domain.upper_bound_val(isl.dim_type.param, position, isl.Val(high))
    count = len(parameters)
    moved = domain.reset_tuple_id() if domain.has_tuple_id() else domain
    return points(moved.move_dims(isl.dim_type.set, 0, isl.dim_type.param, 0, count), {})


def _affordable(
    parameters: Sequence[str],
    ranges: Mapping[str, tuple[int, int]],
    rows: Sequence[Points],
    most: int,
) -> list[tuple[int, ...]]:
    """The smallest sizes that together have at most so many instances."""
    every = product(*(range(ranges[name][0], ranges[name][1] + 1) for name in parameters))
    counts = Counter(tuple(row) for part in rows for row in part[:, : len(parameters)].tolist())
    sizes, total = [], 0
    for size in sorted(every, key=lambda size: (sum(size), size)):
        total += counts[size]
        if total > most:
            break
        sizes.append(size)
    return sizes


def _block(
    statement: Statement,
    parameters: Sequence[str],
    rows: Points,
    sizes: Sequence[tuple[int, ...]],
    start: int,
) -> Block:
    numbers = {size: number for number, size in enumerate(sizes)}
    listed = [tuple(row) for row in rows[:, : len(parameters)].tolist()]
    number = np.array([numbers.get(size, -1) for size in listed], np.int64)
    kept = rows[number >= 0]
    names = (*parameters, *statement.indices)
    variables = dict(zip(names, kept.T, strict=True))
    variables[SIZE] = number[number >= 0]
    return Block(statement, start, variables, len(kept))
