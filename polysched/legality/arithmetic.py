"""Evaluate domains, subscripts and timestamps at one statement instance, in Python integers.

The functions read isl objects constraint by constraint and compute nothing with isl. They check the
witnesses that isl found, so an error in the isl analysis cannot confirm itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import islpy as isl
import numpy as np

from polysched.ir.affine import from_pw_aff, from_set, named
from polysched.ir.data_dependent import outermost_loads, with_values
from polysched.ir.expressions import Expression
from polysched.ir.kernel import Access, Array, Statement
from polysched.ir.packing import Rows
from polysched.ir.points import evaluate_many
from polysched.ir.scalar import evaluate
from polysched.ir.tree import Leaf, Loop, Node
from polysched.ir.tree import Sequence as Children

MOST_VALUES = 4096
"""Most combinations of loaded values to try for one subscript list; beyond it, assume a touch."""

Sizes: TypeAlias = Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Step:
    """A node on the path to a leaf: a loop with its value, or a sequence with a child's index."""

    node: Loop | Children
    value: int


def number(expression: Expression, variables: Sizes) -> int:
    """Evaluate an integer expression that loads nothing."""
    return int(evaluate(expression, _no_array, variables))


def _no_array(array: str, subscripts: tuple[int, ...]) -> Any:
    raise AssertionError(f"{array}{list(subscripts)} depends on data")


def variables_of(statement: Statement, instance: Sequence[int], sizes: Sizes) -> dict[str, int]:
    """Return the values of the parameters and of a statement's indices, by name."""
    return {**sizes, **dict(zip(statement.indices, instance, strict=True))}


def holds(condition: isl.Set, indices: Sequence[str], variables: Sizes) -> bool:
    """Whether the point ``variables`` lies in a set with the dimensions ``indices``."""
    return bool(evaluate(from_set(_named(condition, indices)), _no_array, variables))


def _named(condition: isl.Set, indices: Sequence[str]) -> isl.Set:
    for position, index in enumerate(indices):
        condition = condition.set_dim_name(isl.dim_type.set, position, index)
    return condition


def lives(statement: Statement, variables: Sizes) -> bool:
    """Whether an instance lies in the domain of its statement."""
    return bool(evaluate(_condition(statement), _no_array, variables))


@lru_cache(maxsize=256)
def _condition(statement: Statement) -> Expression:
    return from_set(_named(statement.domain, statement.indices))


def moment(tree: Node, statement: Statement, variables: Sizes) -> tuple[Step, ...]:
    """Return the timestamp of an instance: the nodes on the path to its leaf, with their values."""
    steps: list[Step] = []
    node = tree
    while not isinstance(node, Leaf):
        if isinstance(node, Loop):
            steps.append(Step(node, number(_value(node, statement), variables)))
            node = node.body
        else:
            below = [statement.name in child.statements for child in node.children]
            steps.append(Step(node, below.index(True)))
            node = node.children[steps[-1].value]
    return tuple(steps)


@lru_cache(maxsize=512)
def _value(loop: Loop, statement: Statement) -> Expression:
    return from_pw_aff(named(loop.values[statement.name], statement.indices))


def parting(
    first: Sequence[Step], second: Sequence[Step]
) -> tuple[Loop | Children, int, int] | None:
    """Return the outermost node at which two timestamps of a tree differ, with both values."""
    for step, other in zip(first, second, strict=False):
        if step.value != other.value:
            return step.node, step.value, other.value
    return None


def touches(access: Access, element: tuple[int, ...], variables: Sizes) -> bool:
    """Whether an access touches an element; if a subscript depends on data, whether it may."""
    loads = outermost_loads(access.subscripts)
    if not loads:
        return tuple(number(index, variables) for index in access.subscripts) == element
    ranges = []
    for load in loads:
        assert load.values is not None, "an array in a subscript has a declared range of values"
        low, high = (number(end, variables) for end in load.values)
        ranges.append(range(low, high))
    if np.prod([len(values) for values in ranges], dtype=object) > MOST_VALUES:
        return True
    grid = np.meshgrid(*map(np.array, ranges), indexing="ij")
    known = {**variables, **{str(load): values for load, values in zip(loads, grid, strict=True)}}
    hit = np.ones(grid[0].shape, np.bool_)
    for subscript, wanted in zip(access.subscripts, element, strict=True):
        hit &= evaluate_many(with_values(subscript), known) == wanted
    return bool(hit.any())


def bytes_of(array: Array, element: tuple[int, ...], sizes: Sizes) -> tuple[tuple[int, ...], range]:
    """Return the bytes of an element of a packed array: the indices of its row, and a byte range.

    A row is the unit that starts at a byte boundary: the whole array unless its rows are padded.
    """
    shape = [number(extent, sizes) for extent in array.shape]
    inner = 1 if array.rows is Rows.PADDED else len(shape)
    position = 0
    for index, extent in zip(element[-inner:], shape[-inner:], strict=True):
        position = position * extent + index
    first = array.dtype.bits * position
    last = first + array.dtype.bits - 1
    return element[:-inner], range(first // 8, last // 8 + 1)
