"""Numbers for what is alike: domains, subscripts and pairs of statements that differ in names only.

In a kernel of many statements most questions to isl are one question about other names. Objects
with equal numbers are equal up to the names of their tuples and dimensions, so one of them is asked
for all.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TypeAlias

import islpy as isl
import numpy as np
from numpy.typing import NDArray

from polysched.ir.expressions import Expression, Index
from polysched.ir.kernel import Access, Statement
from polysched.ir.traversal import transform
from polysched.ir.tree import Leaf, Loop, Node
from polysched.ir.tree import Sequence as SequenceNode

Numbers: TypeAlias = NDArray[np.int64]
_Step: TypeAlias = "Loop | int"

_LARGEST, _SMALL = 2**62, 2**12


class Numbering:
    """Gives equal numbers, from 0 upwards, to what is equal."""

    def __init__(self) -> None:
        self._known: dict[Hashable, int] = {}
        self._named: dict[tuple[type, int], list[isl.Set | isl.Map | isl.PwAff]] = {}

    def of(self, key: Hashable) -> int:
        """The number of a key."""
        return self._known.setdefault(key, len(self._known))

    def up_to_names(self, thing: isl.Set | isl.Map | isl.PwAff) -> int:
        """The number of an isl object; names of tuples and dimensions do not count.

        Different numbers say nothing: isl is asked for plain equality only.
        """
        bare = _without_names(thing)
        group = (type(bare), hash(bare))
        others = self._named.setdefault(group, [])
        for position, other in enumerate(others):
            if bare.plain_is_equal(other):  # type: ignore[arg-type]
                return self.of((group, position))
        others.append(bare)
        return self.of((group, len(others) - 1))


def _without_names(thing: isl.Set | isl.Map | isl.PwAff) -> isl.Set | isl.Map | isl.PwAff:
    match thing:
        case isl.Map():
            return thing.reset_tuple_id(isl.dim_type.in_).reset_tuple_id(isl.dim_type.out)
        case isl.PwAff():
            return thing.reset_tuple_id(isl.dim_type.in_)
        case _:
            return thing.reset_tuple_id()


def distinct(*columns: Numbers) -> tuple[Numbers, Numbers]:
    """Which positions of some columns hold the same numbers.

    Args:
        columns: flat arrays of one length, at least one.

    Returns:
        the first position of each different combination, and for each position the index of its
        combination among them.
    """
    keys, width = np.zeros_like(columns[0]), 1
    for column in columns if columns[0].size else ():
        numbers = column - column.min()
        span = int(numbers.max()) + 1
        if width * span > _LARGEST:
            (keys, width), (numbers, span) = _renumbered(keys), _renumbered(numbers)
        keys = keys * span + numbers
        width *= span
    if width > max(keys.size, _SMALL):
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        return first, which
    # As np.unique, without sorting: of several assignments to one element the last one counts.
    first = np.full(width, -1)
    first[keys[::-1]] = np.arange(keys.size - 1, -1, -1)
    used = first >= 0
    return first[used], (np.cumsum(used) - 1)[keys]


def _renumbered(column: Numbers) -> tuple[Numbers, int]:
    """The same equalities in numbers from 0 upwards, and how many there are."""
    values, numbers = np.unique(column, return_inverse=True)
    return numbers, len(values)


def by_position(statement: Statement, access: Access) -> tuple[Expression, ...]:
    """The subscripts of an access, each index under the name of its position."""
    names = {index: f"{position}" for position, index in enumerate(statement.indices)}

    def numbered(node: Expression) -> Expression | None:
        return Index(names[node.name]) if isinstance(node, Index) else None

    return tuple(transform(subscript, numbered) for subscript in access.subscripts)


def pair_classes(tree: Node, names: Sequence[str], numbers: Numbering) -> Numbers:
    """A number for each ordered pair of statements: equal if a tree relates the pairs alike.

    Then the loops around both are of the same kinds, give both the same values up to names, and
    below them the first statement comes before the second, is it, or comes after it, alike.

    Args:
        names: the statements, all in the tree; row and column of each in the matrix returned.
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
                prefix = (*prefix, step.kind, numbers.up_to_names(step.values[name]))
            around[row, level] = prefixes.setdefault(prefix, len(prefixes))
        around[row, len(paths[name]) :] = around[row, len(paths[name]) - 1]
    return _parted(positions, around, len(prefixes))


def _parted(positions: Numbers, around: Numbers, prefixes: int) -> Numbers:
    """The classes, given the place of each statement in the sequences around it."""
    last = around[:, -1]
    result = np.diag((last * prefixes + last) * 3 + 1)
    together = ~np.eye(len(positions), dtype=bool)
    for place, prefix in zip(positions.T, around.T, strict=True):
        parts = together & (place[:, None] != place[None, :])
        if parts.any():
            before = place[:, None] < place[None, :]
            classes = (prefix[:, None] * prefixes + prefix[None, :]) * 3 + 2 * before
            result[parts] = classes[parts]
            together &= ~parts
    return result


def _paths(node: Node, path: tuple[_Step, ...]) -> Iterator[tuple[str, tuple[_Step, ...]]]:
    """For each statement the loops around it, and its positions in the sequences around it."""
    match node:
        case Loop(body=body):
            yield from _paths(body, (*path, node))
        case SequenceNode(children=children):
            for position, child in enumerate(children):
                yield from _paths(child, (*path, position))
        case Leaf(statement=statement):
            yield statement, path
