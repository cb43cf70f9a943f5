"""Enumerate the instances of a kernel's statements at several sizes, as columns of numbers.

isl only lists the points of the domains, so the result does not depend on any other isl operation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

import islpy as isl
import numpy as np

from polysched.ir.core.kernel import Kernel, Statement
from polysched.ir.semantics.points import Points, points

Sizes: TypeAlias = Mapping[str, int]

SIZE = "the number of the size"
"""Column of :attr:`Block.variables` with the index of the size; no parameter can have this name."""


@dataclass(frozen=True, eq=False)
class Block:
    """Instances of one statement at all sizes; their row numbers begin at ``start``."""

    statement: Statement
    start: int
    variables: Mapping[str, Points]
    count: int

    @property
    def rows(self) -> slice:
        """Their row numbers among all instances."""
        return slice(self.start, self.start + self.count)


@dataclass(frozen=True, eq=False)
class Instances:
    """All instances of a kernel at some sizes, statement by statement.

    Attributes:
        functions: a cache of loop values, by the id of the function.
    """

    kernel: Kernel
    sizes: tuple[Sizes, ...]
    blocks: tuple[Block, ...]
    functions: dict[int, tuple[isl.PwAff, Points]] = field(default_factory=dict, repr=False)

    @property
    def count(self) -> int:
        """The number of instances."""
        return sum(block.count for block in self.blocks)

    def at(self, row: int) -> tuple[str, tuple[int, ...]]:
        """Return the statement and the index values of an instance."""
        block = next(block for block in self.blocks if 0 <= row - block.start < block.count)
        place = row - block.start
        indices = block.statement.indices
        return block.statement.name, tuple(int(block.variables[name][place]) for name in indices)


def list_instances(
    kernel: Kernel, ranges: Mapping[str, tuple[int, int]], most: int
) -> Instances | None:
    """List the instances at all sizes in the given ranges, the smallest sizes first.

    Args:
        ranges: the least and the greatest value of each parameter.
        most: the most instances, of all sizes together; larger sizes are left out.

    Returns:
        The instances; None if the smallest size alone has more than ``most``.
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
    """List the points at all sizes in one isl call: columns of parameters, then of indices."""
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
    """Return the smallest sizes that together have at most ``most`` instances."""
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
