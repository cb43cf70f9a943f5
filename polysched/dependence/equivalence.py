"""Equivalence classes up to renaming, for domains, subscripts and pairs of statements.

In a kernel of many statements most isl queries differ in names only. Each object gets a class
number. Objects with the same number are equal up to the names of their tuples and dimensions, so
one isl query answers for the whole class.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TypeAlias

import islpy as isl
import numpy as np
from numpy.typing import NDArray

from polysched.ir.core.kernel import Access, Statement
from polysched.ir.core.tree import Leaf, Loop, Node
from polysched.ir.core.tree import Sequence as SequenceNode
from polysched.ir.expr.expressions import Expression, Index
from polysched.ir.expr.traversal import substituted

Numbers: TypeAlias = NDArray[np.int64]
_Step: TypeAlias = "Loop | int"

_LARGEST_KEY = 2**62
"""Bound of a combined key, so that it fits in 64 bits; larger columns are renumbered first."""

_SMALL_TABLE = 2**12
"""A lookup table of at most this many entries is built even if there are fewer keys."""


class EquivalenceClasses:
    """Assigns class numbers, counted from 0: equal objects get equal numbers."""

    def __init__(self) -> None:
        self._known: dict[Hashable, int] = {}
        self._nameless: dict[tuple[type, int], list[isl.Set | isl.Map | isl.PwAff]] = {}

    def of(self, key: Hashable) -> int:
        """Return the class number of a key."""
        return self._known.setdefault(key, len(self._known))

    def up_to_names(self, isl_object: isl.Set | isl.Map | isl.PwAff) -> int:
        """Return the class number of an isl object, ignoring names of tuples and dimensions.

        Two equal objects may get different numbers, because only isl's plain equality is tested.
        """
        bare = _without_names(isl_object)
        group = (type(bare), hash(bare))
        known = self._nameless.setdefault(group, [])
        for position, other in enumerate(known):
            if bare.plain_is_equal(other):  # type: ignore[arg-type]
                return self.of((group, position))
        known.append(bare)
        return self.of((group, len(known) - 1))


def _without_names(isl_object: isl.Set | isl.Map | isl.PwAff) -> isl.Set | isl.Map | isl.PwAff:
    match isl_object:
        case isl.Map():
            return isl_object.reset_tuple_id(isl.dim_type.in_).reset_tuple_id(isl.dim_type.out)
        case isl.PwAff():
            return isl_object.reset_tuple_id(isl.dim_type.in_)
        case _:
            return isl_object.reset_tuple_id()


def distinct(*columns: Numbers) -> tuple[Numbers, Numbers]:
    """Group the rows of a table: `numpy.unique` on tuples of numbers.

    Args:
        columns: one-dimensional arrays of equal length; at least one.

    Returns:
        the first row of each distinct tuple, and for each row the index of its tuple in that list.
    """
    keys, width = np.zeros_like(columns[0]), 1
    for column in columns if columns[0].size else ():
        numbers = column - column.min()
        span = int(numbers.max()) + 1
        if width * span > _LARGEST_KEY:
            (keys, width), (numbers, span) = _renumbered(keys), _renumbered(numbers)
        keys = keys * span + numbers
        width *= span
    if width > max(keys.size, _SMALL_TABLE):
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        return first, group
    # np.unique without sorting: numpy keeps the last of several assignments to one element, so
    # assigning in reverse keeps the first row.
    first = np.full(width, -1)
    first[keys[::-1]] = np.arange(keys.size - 1, -1, -1)
    used = first >= 0
    return first[used], (np.cumsum(used) - 1)[keys]


def _renumbered(column: Numbers) -> tuple[Numbers, int]:
    """Renumber the values densely from 0; also return the number of distinct values."""
    values, numbers = np.unique(column, return_inverse=True)
    return numbers, len(values)


def by_position(statement: Statement, access: Access) -> tuple[Expression, ...]:
    """The subscripts of an access, each index renamed to its position: ``i`` becomes ``0``."""
    names = {index: Index(f"{position}") for position, index in enumerate(statement.indices)}
    return tuple(substituted(subscript, names) for subscript in access.subscripts)


def pair_classes(tree: Node, names: Sequence[str], numbers: EquivalenceClasses) -> Numbers:
    """Classify all ordered pairs of statements by how a tree orders their instances.

    Two pairs in one class have common loops of the same kinds, whose values agree up to names.
    Below the common loops, the first statement of each pair is before, equal to or after the other.

    Args:
        names: the statements, all in the tree.

    Returns:
        a square matrix of class numbers, with rows and columns in the order of ``names``.
    """
    paths = dict(_paths(tree, ()))
    length = max(len(paths[name]) for name in names) + 1
    positions = np.zeros((len(names), length), np.int64)
    around = np.zeros((len(names), length), np.int64)
    prefixes: dict[tuple[Hashable, ...], int] = {}
    for row, name in enumerate(names):
        prefix: tuple[Hashable, ...] = ()
        for level, step in enumerate(paths[name]):
            if isinstance(step, int):
                positions[row, level] = step
            else:
                mark = step.instruction
                reassociates = mark is not None and mark.reassociates
                value = numbers.up_to_names(step.values[name])
                prefix = (*prefix, step.kind, reassociates, value)
            around[row, level] = prefixes.setdefault(prefix, len(prefixes))
        around[row, len(paths[name]) :] = around[row, len(paths[name]) - 1]
    return _classes(positions, around, len(prefixes))


def _classes(positions: Numbers, around: Numbers, prefixes: int) -> Numbers:
    """Compute the class matrix, level by level from the root of the tree.

    Args:
        positions: for each statement and level, its position in the sequence at that level.
        around: for each statement and level, the number of its prefix of enclosing loops.
        prefixes: the number of distinct prefixes.
    """
    last = around[:, -1]
    result = np.diag((last * prefixes + last) * 3 + 1)
    together = ~np.eye(len(positions), dtype=bool)
    for position, prefix in zip(positions.T, around.T, strict=True):
        # A pair is decided at the first sequence whose children separate its statements.
        separated = together & (position[:, None] != position[None, :])
        if separated.any():
            before = position[:, None] < position[None, :]
            classes = (prefix[:, None] * prefixes + prefix[None, :]) * 3 + 2 * before
            result[separated] = classes[separated]
            together &= ~separated
    return result


def _paths(node: Node, path: tuple[_Step, ...]) -> Iterator[tuple[str, tuple[_Step, ...]]]:
    """Yield each statement with its path: the loops and the positions in sequences around it."""
    match node:
        case Loop(body=body):
            yield from _paths(body, (*path, node))
        case SequenceNode(children=children):
            for position, child in enumerate(children):
                yield from _paths(child, (*path, position))
        case Leaf(statement=statement):
            yield statement, path
